#!/bin/sh
# Start a program that cannot be changed with the options of a flags file.
#
#     sh examples/environment.sh flags.json python serve.py
#
# libtpu reads LIBTPU_INIT_ARGS when it is loaded. XLA_FLAGS is not for it: jaxlib aborts on flags
# of the TPU there. The options hold for every program that the process compiles. What is in that
# variable already is kept if it was there when the file was made, and else replaced, with a note.
set -eu
flags=$1
shift
own=${LIBTPU_INIT_ARGS:-}
LIBTPU_INIT_ARGS=$(python -c '
import sys
from pathlib import Path
from engine.compiler.steering.flags_file import load_flags

print(load_flags(Path(sys.argv[1])).environment)' "$flags")
case " $LIBTPU_INIT_ARGS " in
*" ${own:+$own }"*) ;;
*) echo "note: $flags takes the place of LIBTPU_INIT_ARGS=$own" >&2 ;;
esac
export LIBTPU_INIT_ARGS
exec "$@"
