#!/bin/sh
# The benchmark with RabbitMQ, in its short form: the broker works while it is traced
# in each of seven ways, and each way has events. No figure is compared. For `make soak'.
set -eu
[ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || {
	echo 'RabbitMQ is not installed'
	exit 77
}
json=$(mktemp)
trap 'rm -f "$json"' EXIT
bench/real/run --short "$json"
positive() { # TEXT: prints in how many rows with this text the value is not 0
	grep -F "$1" "$json" | grep -c '"value":0*[1-9.]*[1-9]' || :
}
if [ "$(positive '"unit":"messages/s"')" != 8 ] || [ "$(positive ', events recorded"')" != 7 ]; then
	cat "$json"
	exit 1
fi
