#!/bin/sh
# Uses the server from a shell script, with curl 7.84 or newer. Set SLUICE_URL to use a server other than http://localhost:8080.
#
#   sluice serve --config examples/clients/limits.yaml
#   sh examples/clients/curl.sh

set -eu
server=${SLUICE_URL:-http://localhost:8080}

# With ?status=429, the status of a denial is 429, so that a script needs to look only at the status.
for _ in 1 2 3; do
  curl --silent --max-time 2 --output /dev/null --write-out '%{http_code} %header{retry-after}\n' \
    --data '{"limit":"api","key":"alice"}' "$server/v1/take?status=429"
done
# → 200
# → 200
# → 429 30

# Charge an estimate before the work, and correct it once the actual usage is known. `at` is the time of the charge.
charge=$(curl --silent --max-time 2 --data '{"limit":"tokens","key":"alice","cost":500}' "$server/v1/take")
at=$(echo "$charge" | sed 's/.*"at":\([0-9.]*\).*/\1/')
curl --silent --max-time 2 --data '{"limit":"tokens","key":"alice","charged":500,"used":120,"at":'"$at"'}' \
  "$server/v1/settle" | grep -o '"remaining":[0-9]*' | head -n 1
# → "remaining":880
