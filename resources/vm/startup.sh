#!/bin/sh
# TPU Studio, on a TPU VM: runs as root on every boot; idempotent. What differs from run to run is in the metadata.
# Order: the timer that deletes this machine with nothing but shell and curl, then the guardian, which does the rest.
set -u
umask 077
trap '' PIPE # whoever reads the serial port may stop: no reason to end
M="http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1"
ROOT="${TPU_STUDIO_VM_ROOT:-/var/lib/tpu-studio}"

get() { curl -sf --noproxy '*' --max-time 20 -H 'Metadata-Flavor: Google' "$M/$1"; }
say() { echo "tpu-studio: $*"; }

CONFIG=""
while [ -z "$CONFIG" ]; do
    CONFIG="$(get instance/attributes/ts-config | tr -d '\n')" || CONFIG=""
    [ -n "$CONFIG" ] || { say "no metadata yet"; sleep 2; }
done
key() { printf '%s' "$CONFIG" | sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p"; }

NAME="$(key name)"
case "$NAME" in
    *[!a-z0-9-]*) say "a name that is not ours"; exit 1 ;;
    ts-?*) ;;
    *) say "a name that is not ours"; exit 1 ;;
esac
DIR="$ROOT/$NAME"
mkdir -p "$DIR" || exit 1
cd "$DIR" || exit 1
API="$(key "$(key backend)")"
DELETE="$API/$(key resource)"

# Bare-shell timer. Deadline: absolute unix seconds, moved by the guardian; never set back by a boot.
[ -s deadline ] || { get instance/attributes/ts-deadline >deadline.new && mv deadline.new deadline; }

delete() {
    TOKEN="$(get instance/service-accounts/default/token | sed -n 's/.*"access_token": *"\([^"]*\)".*/\1/p')"
    printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
        curl -s --noproxy '*' --max-time 60 -o /dev/null -w 'tpu-studio: delete answered %{http_code}\n' \
            -K - -X DELETE "$DELETE"
}

timer() {
    trap '' HUP
    while :; do
        HEAD="$(curl -s --noproxy '*' --max-time 20 -D - -o /dev/null -H 'Metadata-Flavor: Google' "$M/instance/id" |
            tr -d '\r')"
        DATE="$(printf '%s\n' "$HEAD" | sed -n 's/^[Dd]ate: //p')"
        SPEED="$(printf '%s\n' "$HEAD" | sed -n 's/^[Xx]-[Pp]ractice-[Ss]peed: \([0-9]*\).*/\1/p')"
        NOW="$(date -u -d "$DATE" +%s 2>/dev/null || date -u +%s)"
        [ -n "$DATE" ] || NOW="$(date -u +%s)"
        END="$(sed -n 's/^\([0-9][0-9]*\).*/\1/p' deadline 2>/dev/null)"
        [ -n "$END" ] || END="$(get instance/attributes/ts-deadline | tr -cd '0-9')" # a full disk keeps no file
        if [ -n "$END" ] && [ "$NOW" -ge "$END" ]; then
            say "the deadline has passed: deleting this machine"
            delete
        fi
        PAUSE=30
        [ "${SPEED:-1}" -gt 1 ] 2>/dev/null && PAUSE=$((30 / SPEED))
        [ "$PAUSE" -ge 1 ] || PAUSE=1
        sleep "$PAUSE"
    done
}
timer &

rm -f guardian.pid going-down # of a boot before; shutdown.sh reads the one and leaves the other
FAILED=0
while [ "$FAILED" -lt 20 ]; do
    SINCE="$(date +%s)"
    if get instance/attributes/ts-guardian >guardian.b64 && python3 - "$(key guardian_sha256)" <<'PY'
import base64, hashlib, os, sys
data = base64.b64decode(open("guardian.b64", "rb").read())
if hashlib.sha256(data).hexdigest() != sys.argv[1]:
    sys.exit("tpu-studio: guardian.pyz is not what was sent")
with open("guardian.pyz.new", "wb") as file:
    file.write(data)
os.replace("guardian.pyz.new", "guardian.pyz")
PY
    then
        python3 guardian.pyz vm &
        echo "$!" >guardian.pid
        wait "$!"
        say "guardian ended with $?"
        rm -f guardian.pid
    fi
    if [ -e going-down ]; then
        sleep 300 # the machine ends meanwhile, else the guardian begins again
        rm -f going-down
    fi
    FAILED=$((FAILED + 1))
    [ $(($(date +%s) - SINCE)) -lt 20 ] || FAILED=0 # it ran: killed from outside is no fault of its own
    sleep 1
done
say "the guardian does not run here: deleting this machine"
while :; do
    delete
    sleep 30
done
