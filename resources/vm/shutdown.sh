#!/bin/sh
# TPU Studio, on a TPU VM: Google's agent runs this as root, the network still there, when the machine goes down (taken
# back, stopped, deleted, restarted; some 30 s). Startup scripts and what they began get no signal then: this tells the
# guardian, which has the trainer save and carries that up, and waits for it.
ROOT="${TPU_STUDIO_VM_ROOT:-/var/lib/tpu-studio}"
for FILE in "$ROOT"/ts-*/guardian.pid; do
    PID="$(sed -n 's/^\([1-9][0-9]*\)$/\1/p' "$FILE" 2>/dev/null)"
    [ -n "$PID" ] || continue
    : >"${FILE%/*}/going-down" # the startup script does not begin again
    kill -TERM "$PID" 2>/dev/null || continue
    echo "tpu-studio: going down, the guardian saves"
    TURN=0
    while [ -e "$FILE" ] && kill -0 "$PID" 2>/dev/null && [ "$TURN" -lt 280 ]; do
        sleep 0.2
        TURN=$((TURN + 1))
    done
    echo "tpu-studio: going down, the guardian has ended"
done
exit 0
