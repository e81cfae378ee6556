#!/bin/bash
# Asks a deployment for predictions, with curl.
#
#     ./client.sh WHERE MODEL ROWS.csv
#
# WHERE is an address (http://HOST:PORT), or the name of a deployment, whose address `ydl serve address` knows.
# SERVE_KEY_FILE names the file with the deployment's key, if it has one. Prints the answer's JSON.
set -euo pipefail
where=$1 model=$2 rows=$3

address() {
    case $where in
        *://*) echo "$where" ;;
        *) ydl serve address "$where" | shuf -n 1 ;; # of its gateways
    esac
}

# A key does not belong on a command line, where everybody can read it.
key() {
    [ -z "${SERVE_KEY_FILE:-}" ] ||
        printf 'header = "Authorization: Bearer %s"\n' "$(grep -v '^#' "$SERVE_KEY_FILE" | head -n 1)"
}

# Each line of the table is a row.
request() {
    echo '{"instances": ['
    sed 's/.*/[&]/; $!s/$/,/' "$rows"
    echo ']}'
}

# What is printed is the last answer, and not those that were no answers.
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# curl sends a request again by itself when the answer is 408, 429, 502 or 503, after the time that Retry-After
# names or a growing one. Where nobody listens any more (code 7), the deployment may have moved; while it does,
# it has no address.
for _ in {1..60}; do
    code=7
    if url=$(address) && [ -n "$url" ]; then
        code=0
        request | curl --silent --show-error --fail-with-body --max-time 60 --retry 8 \
            --output "$answer" --config <(key) -H 'Content-Type: application/json' --data-binary @- \
            "$url/v1/models/$model:predict" || code=$?
    fi
    [ $code = 7 ] || break
    sleep 1
done
cat "$answer"
exit $code
