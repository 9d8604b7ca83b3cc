#!/bin/sh
# Makes a small Debian chroot with the Erlang/OTP of another release, for
# `make matrix`. Prints its directory on stdout; everything else on stderr.
#
#   tools/chroot.sh trixie|forky|...      make it if it does not exist
#   tools/chroot.sh --path SUITE          only print its path; fails if it is not complete
#   tools/chroot.sh --base                the directory for downloads and chroots
#   tools/chroot.sh --mirror              the Debian mirror of this machine
#
# Exit status: 0 the chroot exists, 77 it cannot be made on this machine (the
# reason is on stderr), 1 making it failed.
set -eu

include=erlang-base,erlang-dev,erlang-runtime-tools,erlang-proper
include=$include,erlang-parsetools,erlang-eunit,erlang-crypto,erlang-ftp
include=$include,erlang-snmp,erlang-ssh,erlang-syntax-tools,erlang-tools
include=$include,erlang-xmerl,libjs-jquery,libjs-jquery-tablesorter
include=$include,erlang-ssl,openssl,util-linux,iproute2,procps

# This package depends on a graphical debugger, which needs many libraries that
# no test needs. So the files of this package are unpacked without its
# dependencies.
unpack_only=erlang-common-test

say() { printf 'chroot.sh: %s\n' "$*" >&2; }
cannot() { say "$*"; exit 77; }

base_dir() {
	if [ -n "${INVISO_CHROOTS:-}" ]; then
		printf '%s\n' "$INVISO_CHROOTS"
	elif [ -n "${XDG_CACHE_HOME:-}" ]; then
		printf '%s/inviso\n' "$XDG_CACHE_HOME"
	else
		echo /var/cache/inviso
	fi
}

# Prints the site of the main archive in apt's configuration. Security and update
# archives have no base system.
mirror() {
	# shellcheck disable=SC2016  # apt expands these, not the shell
	apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 2>/dev/null |
	awk '$3 == "main" && $2 !~ /security|updates|backports/ &&
	     $1 ~ /^(https?|file):/ { print $1; exit }'
}

# debootstrap downloads with wget, which reads proxies from the environment
# only.
use_apt_proxy() {
	for scheme in http https; do
		eval "now=\${${scheme}_proxy:-}"
		[ -z "$now" ] || continue
		proxy=
		eval "$(apt-config shell proxy "Acquire::$scheme::Proxy")"
		case $proxy in
		''|DIRECT) ;;
		*) export "${scheme}_proxy=$proxy" ;;
		esac
	done
}

# debootstrap has no script for a release that is newer than itself. The script
# for sid works for such a release.
script_for() {
	dir=/usr/share/debootstrap/scripts
	if [ -e "$dir/$1" ]; then echo "$dir/$1"; else echo "$dir/sid"; fi
}

bootstrap() { # SUITE DIR [OPTION...]
	b_suite=$1 b_dir=$2
	shift 2
	rm -rf "$b_dir"
	debootstrap --variant=minbase --include="$include" "$@" \
		"$b_suite" "$b_dir" "$mirror" "$(script_for "$b_suite")" \
		>"$log" 2>&1 </dev/null
}

# Downloads a package and unpacks its files. The package list that debootstrap has
# downloaded has the path and the checksum.
unpack_deb() { # DIR PACKAGE
	set -- "$1" "$(awk -v RS= -v want="Package: $2" \
		'index($0, want "\n") == 1' "$1"/var/lib/apt/lists/*_Packages)"
	file=$(printf '%s\n' "$2" | sed -n 's/^Filename: //p' | head -n 1)
	sum=$(printf '%s\n' "$2" | sed -n 's/^SHA256: //p' | head -n 1)
	[ -n "$file" ] || return 1
	case $mirror in
	file:*) cp "${mirror#file:}/$file" "$1/tmp/unpack.deb" ;;
	*) wget -q -O "$1/tmp/unpack.deb" "${mirror%/}/$file" ;;
	esac &&
	echo "$sum  $1/tmp/unpack.deb" | sha256sum -c --quiet >&2 &&
	dpkg-deb -x "$1/tmp/unpack.deb" "$1" &&
	rm "$1/tmp/unpack.deb"
}

make_chroot() { # SUITE DIR
	log=$2.log
	bootstrap_verified "$1" "$2" && unpack_deb "$2" "$unpack_only"
}

bootstrap_verified() { # SUITE DIR
	if bootstrap "$1" "$2"; then return; fi
	# The archive is signed with a newer key than this machine's keyring
	# has.
	if grep -qiE 'unknown key|NO_PUBKEY|invalid Release signature' "$log"; then
		say "$1: the archive's key is unknown here; taking it unverified, for tests only"
		if bootstrap "$1" "$2" --no-check-gpg; then return; fi
	fi
	tail -n 20 "$log" "$2/debootstrap/debootstrap.log" >&2 2>/dev/null || :
	return 1
}

only_path=
case ${1:-} in
--path) only_path=1; shift ;;
--base) base_dir; exit ;;
--mirror) mirror; exit ;;
esac
case ${1:-} in
''|*[!a-z]*) echo 'usage: tools/chroot.sh [--path] SUITE | --base | --mirror' >&2; exit 1 ;;
esac
suite=$1
base=$(base_dir)
root=$base/$suite

# The stamp is written last, so a chroot without it is incomplete. It lists the
# packages: a chroot with others is made again.
is_complete() { [ "$(cat "$root/.inviso-chroot" 2>/dev/null)" = "$include" ]; }

if is_complete; then echo "$root"; exit 0; fi
[ -z "$only_path" ] || exit 1

[ "$(id -u)" = 0 ] || cannot "$suite: not root"
PATH=$PATH:/usr/sbin:/sbin
command -v debootstrap >/dev/null || cannot "$suite: debootstrap is not installed"
mirror=$(mirror)
[ -n "$mirror" ] || cannot "$suite: no Debian mirror in apt's configuration"
use_apt_proxy

mkdir -p "$base"
exec 9>"$base/$suite.lock"
flock 9		# waits for another run that makes the same chroot
if ! is_complete; then
	say "making $root (a minute or two)"
	make_chroot "$suite" "$root" || { say "$suite: failed, see $root.log"; exit 1; }
	rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
	echo "$include" >"$root/.inviso-chroot"
fi
echo "$root"
