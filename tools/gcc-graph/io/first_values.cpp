#include "tools/gcc-graph/io/first_values.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "artifact_schema/writer.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/rewrite_artifact.h"
#include "tools/gcc-graph/io/signature_watch.h"
#include "tools/gcc-graph/io/store_golden.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fb = gart::fb;

bool reads_weights(const fb::EntryPointT& entry, uint64_t begin, uint64_t end) {
  for (const auto& plan : entry.plans)
    for (const auto& buffer : plan->buffers)
      if (buffer->kind == fb::BufferKind::constant && buffer->offset >= begin && buffer->offset < end) return true;
  return false;
}

class Writer {
 public:
  explicit Writer(gart::ArtifactContent& content) : content_(content) {}

  /// Gives the state this first value in all entry points that have it.
  void set(const std::string& name, const gart::Tensor& value) {
    std::vector<fb::StateT*> states;
    for (const auto& entry : content_.manifest.entry_points)
      for (const auto& state : entry->states)
        if (state->name == name) states.push_back(state.get());
    int64_t offset = states.at(0)->initial;
    if (offset < 0 || is_shared(name, static_cast<uint64_t>(offset), value.bytes())) {
      offset = static_cast<int64_t>(gart::align_up(content_.weights.size(), gart::kManifestAlignment));
      content_.weights.resize(static_cast<size_t>(offset) + value.bytes());
    }
    for (fb::StateT* state : states) state->initial = offset;
    if (value.bytes() > 0)
      std::memcpy(content_.weights.data() + static_cast<size_t>(offset), value.data(), value.bytes());
  }

 private:
  /// True if other contents use the same bytes, because equal contents are stored once.
  bool is_shared(const std::string& name, uint64_t begin, uint64_t bytes) const {
    const uint64_t end = begin + std::max<uint64_t>(bytes, 1);
    const fb::ManifestT& manifest = content_.manifest;
    if (manifest.load_time_packing && reads_weights(*manifest.load_time_packing, begin, end)) return true;
    for (const auto& entry : manifest.entry_points) {
      if (reads_weights(*entry, begin, end)) return true;
      for (const auto& state : entry->states)
        if (state->name != name && state->initial >= static_cast<int64_t>(begin) &&
            state->initial < static_cast<int64_t>(end))
          return true;
    }
    return false;
  }

  gart::ArtifactContent& content_;
};

}  // namespace

void write_with_states(const std::string& from, const TrustOption& trust, const gart::Program& program,
                       const std::string& to) {
  const ArtifactFile artifact = open_artifact(from, trust);
  const SignatureWatch signature(to);
  write_file(to, rewritten(artifact.view, [&](gart::ArtifactContent& content) {
               Writer writer(content);
               for (const gart::TensorInfo& info : program.program_states())
                 writer.set(info.name, value_or_throw(program.state(info.name)));
               remove_golden(content.manifest);  // the golden outputs belong to the old values
             }));
  signature.tell();
}

}  // namespace gcg::tools
