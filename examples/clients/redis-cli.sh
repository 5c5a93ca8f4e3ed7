#!/bin/sh
# Uses the server with redis-cli. Set SLUICE_RESP_PORT to use a port other than 6380.
#
#   sluice serve --config examples/clients/limits.yaml
#   sh examples/clients/redis-cli.sh

set -eu
port=${SLUICE_RESP_PORT:-6380}

# The reply has five integers: whether the take was denied, the limit, the remaining units, the seconds until a retry can succeed,
# and the seconds until the key is fully replenished.
for _ in 1 2 3; do
  reply=$(redis-cli -p "$port" THROTTLE alice api)
  # shellcheck disable=SC2086 # Splits the reply into $1 to $5.
  set -- $reply
  if [ "$1" = 0 ]; then echo "allowed, $3 left"; else echo "denied, retry in $4 s"; fi
done
# → allowed, 1 left
# → allowed, 0 left
# → denied, retry in 30 s
