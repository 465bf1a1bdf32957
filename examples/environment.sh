#!/bin/sh
# Start a program that cannot be changed with the options of a flags file.
#
#     sh examples/environment.sh flags.json python serve.py
#
# libtpu reads LIBTPU_INIT_ARGS when it is loaded. XLA_FLAGS is not for it: jaxlib aborts on flags
# of the TPU there. The options hold for every program that the process compiles.
set -eu
flags=$1
shift
LIBTPU_INIT_ARGS=$(python -c '
import sys
from pathlib import Path
from engine.compiler.steering.flags_file import load_flags

print(load_flags(Path(sys.argv[1])).environment)' "$flags")
export LIBTPU_INIT_ARGS
exec "$@"
