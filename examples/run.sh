#!/usr/bin/env bash
# Makes the examples' models, compiles them, and runs each example, in C++, C and Python: run.sh FOLDER The C, C++ and
# Python forms of an example must print the same output.
set -euo pipefail
if [ -z "${GCC_GRAPH_PYTHON:-}" ]; then
  echo "SKIP: GCC_GRAPH_PYTHON is not set (tools/test.sh sets it)"
  exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
export PYTHONPATH=$here/../tools/python
"$GCC_GRAPH_PYTHON" "$here/make_models.py" .
for model in classifier voice; do "$GCC_GRAPH" compile $model.onnx -o $model.gart; done
"$EXAMPLES/example_classify" classifier.gart | tee classify.txt
"$GCC_GRAPH_PYTHON" "$here/classify.py" classifier.gart | diff - classify.txt
"$EXAMPLES/example_voice" voice.gart | tee voice.txt
"$GCC_GRAPH_PYTHON" "$here/voice.py" voice.gart | diff - voice.txt
"$EXAMPLES/example_serve" classifier.gart
"$GCC_GRAPH" compile chat.onnx -o chat.gart --state auto
"$EXAMPLES/example_chat" chat.gart 3 14 15 | tee chat.txt
"$GCC_GRAPH_PYTHON" "$here/chat.py" chat.gart 3 14 15 | diff - chat.txt
"$GCC_GRAPH" compile sentences.onnx -o sentences.gart
"$GCC_GRAPH" compile decoder.onnx --entry encode=encoder.onnx --generate -o speech.gart
if "$GCC_GRAPH_PYTHON" -c 'import tokenizers'; then  # 1 kHz is the middle of this band
  "$GCC_GRAPH_PYTHON" "$here/embed.py" sentences.gart speech.json band1 band1 "band1" band7 | grep -c "^ 1.000  band1$" | grep -x 3
  "$GCC_GRAPH_PYTHON" "$here/transcribe.py" speech.gart speech.json tone.wav | grep -x band26
fi
"$GCC_GRAPH" compile clipped.onnx -o clipped.gart --custom-op 'acme::Median(f32[n, c]) -> f32[n]; workspace 4*c'
"$EXAMPLES/example_custom_op_c" clipped.gart | tee clipped.txt
"$EXAMPLES/example_custom_op" clipped.gart | diff - clipped.txt
"$GCC_GRAPH_PYTHON" "$here/custom_op.py" clipped.gart | diff - clipped.txt
