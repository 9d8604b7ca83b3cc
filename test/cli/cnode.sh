#!/bin/sh
# The library for C nodes, as `make install' installs it: the example is compiled
# with the installed header and library only.
# shellcheck source=lib.sh
. test/cli/lib.sh

ei=$(erl -noinput -boot start_clean -eval \
	'io:put_chars(code:lib_dir(erl_interface)), halt().')

installs() {
	works make -C "$root" -s install DESTDIR="$dir/to" PREFIX=/usr
}

compiles() { # COMPILER FILE PROGRAM
	works "$1" -pthread -Wall -Wextra -Werror -I"$dir/to/usr/include" -I"$ei/include" \
		-o "$3" "$2" -L"$dir/to/usr/lib" -L"$ei/lib" \
		-linviso_cnode -lei -lzstd
}

# The library defines no global names except those of its header.
own_names() {
	nm "$dir/to/usr/lib/libinviso_cnode.a" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ { print $3 }' |
		sort >"$dir/has"
	grep -o 'inviso_cnode_[a-z_]*(' "$root/include/inviso_cnode.h" | tr -d '(' |
		sort -u >"$dir/declared"
	works diff "$dir/declared" "$dir/has"
}

in_manual() { # each function is in the manual
	while read -r name; do
		grep -q "$name(" "$dir/to/usr/share/man/man3/inviso_cnode.3" ||
			{ echo "# $name"; return 1; }
	done <"$dir/declared"
}

ok 'make install' installs
ok 'the library exports what the header declares' own_names
ok 'the manual has each function' in_manual
ok 'the example is compiled' compiles cc "$root/test/tools/cnode_server.c" "$dir/server"
cd "$dir" || exit 1
ok 'the example runs' status 2 ./server
printf '#include <inviso_cnode.h>\nint main() { return inviso_cnode_close(nullptr); }\n' >c.cc
if command -v c++ >/dev/null; then
	ok 'a program in C++ is compiled' compiles c++ c.cc ./cpp
	ok 'it runs' status 0 ./cpp
else
	skip 'a program in C++ is compiled' 'no c++'
fi
summary
