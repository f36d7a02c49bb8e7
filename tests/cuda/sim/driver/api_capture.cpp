// Captures streams. Only work of the simulated libraries can be captured.
#include <algorithm>
#include <utility>

#include "tests/cuda/sim/driver/gart_sim.h"
#include "tests/cuda/sim/driver/graph.h"

using namespace gart_sim;

namespace {

LibraryWork make_work(const gart_sim_work& request) {
  const std::shared_ptr<void> data(request.data, request.drop);
  LibraryWork work{request.name, [run = request.run, data] { run(data.get()); }, {}, {}};
  const auto ranges = [](const gart_sim_range* from, size_t count) {
    std::vector<Range> out(count);
    std::transform(from, from + count, out.begin(),
                   [](const gart_sim_range& range) { return Range{range.begin, range.end}; });
    return out;
  };
  merge(work.reads, ranges(request.reads, request.read_count));
  merge(work.writes, ranges(request.writes, request.write_count));
  return work;
}

// Adds the work after the graph's last node.
void append(Graph& graph, LibraryWork work) {
  auto node = std::make_unique<GraphNode>();
  node->type = kKernelNode;
  node->work = std::move(work);
  if (!graph.nodes.empty()) node->after.push_back(graph.nodes.size() - 1);
  graph.nodes.push_back(std::move(node));
}

}  // namespace

GART_SIM_API cuStreamBeginCapture_v2(void* handle, int mode) {
  GART_SIM_CALL("cuStreamBeginCapture_v2");
  Stream* stream = world.streams.find(handle);
  if (!stream) return call.misuse("the stream is not alive, or the default one", kCaptureUnsupported);
  if (mode != 1 && mode != 2) return call.misuse("a capture that forbids calls to other threads");
  if (stream->capture) return call.misuse("the stream is captured already");
  stream->is_relaxed = mode == 2;
  stream->capture = std::make_shared<Graph>();
  stream->capture->context = stream->context;
  return 0;
}

GART_SIM_API cuStreamEndCapture(void* handle, void** out) {
  GART_SIM_CALL("cuStreamEndCapture");
  Stream* stream = world.streams.find(handle);
  if (!stream || !out) return call.misuse("the stream is not alive, or there is no place for the graph");
  if (!stream->capture) return call.misuse("the stream is not captured");
  const std::shared_ptr<Graph> captured = std::exchange(stream->capture, nullptr);
  *out = nullptr;
  if (const std::string spoilt = std::exchange(stream->spoilt, {}); !spoilt.empty()) {
    return call.misuse(spoilt, kCaptureInvalidated);
  }
  *out = world.graphs.add(std::make_unique<Graph>(std::move(*captured)));
  return 0;
}

extern "C" __attribute__((visibility("default"))) int gart_sim_call(const char* name) {
  const std::unique_lock held(World::get().mutex);
  return World::get().count(name);
}

extern "C" __attribute__((visibility("default"))) int gart_sim_enqueue(void* handle, const gart_sim_work* request) {
  const std::unique_lock held(World::get().mutex);
  LibraryWork work = make_work(*request);
  Stream* stream = World::get().streams.find(handle);
  if (!stream) return kInvalidHandle;
  if (stream->capture && !stream->is_relaxed) {
    stream->spoilt = "a library loads its code when it is first used, and a capture of this mode forbids that";
    return kCaptureUnsupported;
  }
  if (stream->capture) {
    append(*stream->capture, std::move(work));
  } else {
    const std::string label = work.name;
    enqueue(*stream, label, [work = std::move(work)](Footprint& footprint) { return work.run(footprint); });
  }
  return 0;
}

extern "C" __attribute__((visibility("default"))) int gart_sim_add_work(void* handle, const gart_sim_work* request) {
  const std::unique_lock held(World::get().mutex);
  LibraryWork work = make_work(*request);
  Graph* graph = World::get().graphs.find(handle);
  if (!graph) return kInvalidHandle;
  append(*graph, std::move(work));
  return 0;
}
