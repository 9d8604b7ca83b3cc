#!/bin/sh
# Installs the Debian packages of tools/apt-packages that are missing, and for
# tests the packages of tools/npm-packages.
#
#   tools/deps.sh build|check|lint|soak|all
#
# A section includes the sections above it. The script asks nothing, and does
# nothing if no package is missing. Without root, or a sudo without a password,
# it names the missing packages and fails.
set -eu
cd "$(dirname "$0")/.."

wanted() { # FILE SECTION
	awk -v last="$2" '
	/^\[/ { if (done) exit; section = $1; gsub(/[][]/, "", section)
		if (section == last) done = 1; next }
	{ sub(/#.*/, "") }
	NF { print $1 }' "$1"
}

missing() { # SECTION
	# dpkg-query fails if it does not know a package, but prints the others.
	# shellcheck disable=SC2016,SC2046  # dpkg's own ${}; one word a package
	installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' \
		$(wanted tools/apt-packages "$1") 2>/dev/null | awk '$2 == "installed" { print $1 }')
	for package in $(wanted tools/apt-packages "$1"); do
		printf '%s\n' "$installed" | grep -qxF "$package" ||
			printf '%s ' "$package"
	done
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

can_be_root() {
	[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

apt_get() {
	as_root apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Installs the packages of tools/npm-packages into build/npm. If this fails, the
# script only reports the failure: the tests that need the packages are skipped.
npm_packages() { # SECTION
	command -v npm >/dev/null || return 0
	wanted tools/npm-packages "$1" >build/npm.wanted
	if [ -e build/npm/installed ] &&
	   ! grep -qvxF -f build/npm/installed build/npm.wanted; then
		return 0
	fi
	mkdir -p build/npm
	# shellcheck disable=SC2046  # a list of words
	if timeout 120 npm install --prefix build/npm --no-audit --no-fund \
		--ignore-scripts --fetch-retries 1 --fetch-timeout 20000 \
		--silent $(cat build/npm.wanted) >build/npm/log 2>&1 </dev/null; then
		mv build/npm.wanted build/npm/installed
	else
		echo 'deps.sh: npm cannot install tools/npm-packages; their tests are skipped' >&2
	fi
}

section=${1:-all} npm=check
case $section in
build|check|lint) ;;
soak) section=check npm=soak ;;
all) section=lint ;;
*) echo 'usage: tools/deps.sh build|check|lint|soak|all' >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
	echo "deps.sh: not a Debian system; tools/apt-packages lists what is needed" >&2
	exit 0
fi
if [ "$section" != build ]; then
	mkdir -p build
	npm_packages $npm
fi
packages=$(missing "$section")
[ -n "$packages" ] || exit 0

if ! can_be_root; then
	printf 'deps.sh: missing: %s\nrun: apt-get install --no-install-recommends %s\n' \
		"$packages" "$packages" >&2
	exit 1
fi

# RabbitMQ's package starts a server, now and at each boot, but tests start
# their own. Debian's scripts ask this program before they start a service.
policy=/usr/sbin/policy-rc.d
no_services() {
	[ ! -e $policy ] || return 0
	trap 'as_root rm -f $policy' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
	as_root chmod 755 $policy
}

printf 'installing: %s\n' "$packages"
no_services
apt_get update
# shellcheck disable=SC2086  # a list of words
apt_get install -y --no-install-recommends $packages >/dev/null
case " $packages" in
*' rabbitmq-server '*) as_root systemctl disable rabbitmq-server >/dev/null 2>&1 || : ;;
esac
