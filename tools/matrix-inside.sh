#!/bin/sh
# The part of tools/matrix.sh that runs in name spaces of its own: mounts file
# systems for the tests, copies the tree into the chroot, and runs the tests
# there. All processes and mounts end with the name spaces.
#
#   tools/matrix-inside.sh CHROOT RESULTS TEST-RUN-ARGUMENT...
set -eu
root=$1 results=$2
shift 2
tree=$root/srv/inviso

in_chroot() {
	chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin INVISO_NO_BUILD=1 \
		CT_TIMEOUT="${CT_TIMEOUT:-1800}" CI="${CI:-}" JOBS="$JOBS" \
		RERUN="${RERUN:-}" INVISO_MATRIX="$INVISO_MATRIX" \
		SLOW_HALF="${SLOW_HALF:-}" \
		${INVISO_MATCH_CASES:+INVISO_MATCH_CASES="$INVISO_MATCH_CASES"} \
		"$@"
}

mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
for dir in dev/shm tmp root run srv; do
	mount -t tmpfs tmpfs "$root/$dir"
done
ip link set lo up 2>/dev/null || :

mkdir -p "$tree/build/release" "$tree/build/test-logs"
tar -cf - --exclude=./.git --exclude=./build . | tar -xf - -C "$tree"
if [ -d build/release/ct ]; then cp -RL build/release/ct "$tree/build/release/"; fi
mount --bind "$results" "$tree/build/test-logs"

# With short node names, the name of this machine must resolve to this machine.
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(uname -n)" >"$root/tmp/hosts"
: >>"$root/etc/hosts"
mount --bind "$root/tmp/hosts" "$root/etc/hosts"

# The chroot's release compiles src/. The oldest release must load the beams.
mkdir -p "$results/ebin"
in_chroot sh -c 'cd /srv/inviso && tools/erlc25 -o build/test-logs/ebin \
	+debug_info +deterministic -I include $(find src -name "*.erl")' >"$results/erlc.log" 2>&1 || :

# The tests are compiled in the chroot, because they match on binaries, for which
# OTP 25 and 29 have no common instruction. All other files are copies of the
# tree's.
in_chroot sh -c 'cd /srv/inviso && erlc -I include -I test/ct -pa ebin \
	-o build/release/ct test/ct/*.erl' >"$results/erlc-ct.log" 2>&1 || :

in_chroot escript /srv/inviso/tools/load-beams.escript /srv/inviso/ebin \
	>"$results/load-there.log" 2>&1 || :

in_chroot /bin/sh /srv/inviso/test/run "$@"
