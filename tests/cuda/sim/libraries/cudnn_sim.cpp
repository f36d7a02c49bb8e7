// libcudnn.so: its functions on the simulated device.
#include <cstring>

#include "tests/cuda/sim/libraries/cudnn_engine.h"
#include "tests/cuda/sim/libraries/cudnn_program.h"
#include "tests/cuda/sim/libraries/element.h"
#include "tests/cuda/sim/libraries/library_work.h"

namespace {

using namespace gart_sim::cudnn;
using gart_sim::LibraryWork;
using gart_sim::Tensor;

constexpr size_t kAttentionSince = 91300;  // the version

struct Handle {
  void* stream = nullptr;
};

Tensor tensor_of(const Descriptor& t, const void* data) {
  return {reinterpret_cast<uint64_t>(data), t.element_type() == kF32 ? 4 : 2, t.extents(), t.strides()};
}

// Numbers that the library reads from host memory during the call, and keeps.
using Scalars = std::map<int64_t, float>;

int add_access(LibraryWork& work, const Descriptor& d, bool writes, Memory& memory, Scalars& scalars) {
  const auto data = memory.find(d.uid());
  if (data == memory.end()) return refuse(kBadParam, "a tensor without an address");
  if (d.is_by_value()) {
    const auto known = scalars.emplace(d.uid(), 0.0f);
    if (known.second) memcpy(&known.first->second, data->second, sizeof(float));
    data->second = &known.first->second;
    return kSuccess;
  }
  const Tensor tensor = tensor_of(d, data->second);
  if (tensor.address % static_cast<uint64_t>(d.one<int64_t>(900)) != 0)
    return refuse(kBadParam, "a tensor that is less aligned than promised");
  writes ? work.writes(tensor) : work.reads(tensor);
  return kSuccess;
}

int make_work(const Descriptor& plan, const Descriptor& pack, std::vector<LibraryWork>& out) {
  if (!plan.is_final || !pack.is_final) return refuse(kBadParam, "a plan or a pack that is not final");
  const auto uids = pack.list<int64_t>(1000);
  const auto pointers = pack.list<void*>(1001);
  if (uids.size() != pointers.size()) return refuse(kBadParam, "as many uids as pointers");
  const auto memory = std::make_shared<Memory>();
  const auto scalars = std::make_shared<Scalars>();
  for (size_t i = 0; i < uids.size(); ++i) (*memory)[uids[i]] = pointers[i];
  const std::shared_ptr<const Program> program = plan.program;
  LibraryWork work("cudnn graph", [program, memory, scalars] { run(*program, *memory); });
  for (const auto& o : program->operations) {
    std::vector<const Descriptor*> all = o.inputs;
    all.push_back(o.result);
    for (const Descriptor* d : all) {
      if (!d || d->is_virtual()) continue;
      if (const int status = add_access(work, *d, d == o.result, *memory, *scalars)) return status;
    }
  }
  if (workspace_of(plan) > 0) {
    float* workspace = pack.one<float*>(1003);
    const Tensor bytes = {reinterpret_cast<uint64_t>(workspace), 4, {workspace_of(plan) / 4}, {1}};
    LibraryWork clear("cudnn clears its workspace",
                      [workspace, count = workspace_of(plan)] { memset(workspace, 0, static_cast<size_t>(count)); });
    out.push_back(clear.writes(bytes));
    work.reads(bytes);
  }
  out.push_back(work);
  return kSuccess;
}

}  // namespace

GART_SIM_API size_t gart_sim_cudnn_alive() { return count_alive(); }

GART_SIM_API size_t cudnnGetVersion() { return gart_sim::setting("GART_SIM_CUDNN", 91900); }
GART_SIM_API const char* cudnnGetErrorString(int status) {
  if (status == kNotSupported) return "CUDNN_STATUS_NOT_SUPPORTED";
  return status == kBadParam ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_OTHER";
}
GART_SIM_API void cudnnGetLastErrorString(char* out, size_t bytes) { strncpy(out, take_last_error(), bytes); }

GART_SIM_API int cudnnCreate(Handle** out) {
  if (const int injected = gart_sim_call("cudnnCreate")) return injected;
  *out = new Handle;
  now_alive(*out);
  return kSuccess;
}
GART_SIM_API int cudnnDestroy(Handle* handle) {
  gart_sim_call("cudnnDestroy");
  if (!was_alive(handle)) return kBadParam;
  delete handle;
  return kSuccess;
}
GART_SIM_API int cudnnSetStream(Handle* handle, void* stream) {
  if (const int injected = gart_sim_call("cudnnSetStream")) return injected;
  handle->stream = stream;
  return kSuccess;
}

GART_SIM_API int cudnnBackendCreateDescriptor(int type, Descriptor** out) {
  if (const int injected = gart_sim_call("cudnnBackendCreateDescriptor")) return injected;
  if (type == kAttentionForward && cudnnGetVersion() < kAttentionSince)
    return refuse(kNotSupported, "a descriptor that is not known");
  *out = new Descriptor(type);
  now_alive(*out);
  return kSuccess;
}
GART_SIM_API int cudnnBackendDestroyDescriptor(Descriptor* d) {
  gart_sim_call("cudnnBackendDestroyDescriptor");
  if (!was_alive(d)) return kBadParam;
  delete d;
  return kSuccess;
}
GART_SIM_API int cudnnBackendFinalize(Descriptor* d) {
  if (const int injected = gart_sim_call("cudnnBackendFinalize")) return injected;
  if (!is_alive(d) || d->is_final) return refuse(kBadParam, "a descriptor that is not alive, or final already");
  const int status = finalize(*d);
  d->is_final = status == kSuccess;
  return status;
}
GART_SIM_API int cudnnBackendSetAttribute(Descriptor* d, int name, int type, int64_t count, const void* values) {
  if (const int injected = gart_sim_call("cudnnBackendSetAttribute")) return injected;
  if (!is_alive(d) || d->is_final || count < 1 || !values) return refuse(kBadParam, "a wrong attribute");
  const size_t bytes = static_cast<size_t>(count) * size_of(type);
  const auto* from = static_cast<const unsigned char*>(values);
  d->values[name] = {type, {from, from + bytes}};
  return kSuccess;
}

GART_SIM_API int cudnnBackendGetAttribute(Descriptor* d, int name, int type, int64_t wanted, int64_t* count,
                                          void* values) {
  if (const int injected = gart_sim_call("cudnnBackendGetAttribute")) return injected;
  if (!is_alive(d) || !count) return refuse(kBadParam, "a descriptor that is not alive, or no place for the count");
  if (is_of_engines(name)) return get_of_engines(*d, name, type, wanted, count, values);
  if (name == 402 && type == kInt64 && values) {
    const int64_t bytes = workspace_of(*d);
    memcpy(values, &bytes, sizeof bytes);
    *count = 1;
    return kSuccess;
  }
  return refuse(kBadParam, "an attribute that is not simulated");
}

GART_SIM_API int cudnnBackendExecute(Handle* handle, Descriptor* plan, Descriptor* pack) {
  if (const int injected = gart_sim_call("cudnnBackendExecute")) return injected;
  std::vector<LibraryWork> work;
  if (const int status = make_work(*plan, *pack, work)) return status;
  for (const LibraryWork& w : work) {
    if (w.enqueue(handle->stream)) return refuse(kExecutionFailed, "the stream takes no work");
  }
  count_run(*plan);
  return kSuccess;
}

GART_SIM_API int cudnnBackendPopulateCudaGraph(Handle* handle, Descriptor* plan, Descriptor* pack, void* graph) {
  if (const int injected = gart_sim_call("cudnnBackendPopulateCudaGraph")) return injected;
  if (!is_alive(handle) || !fills_graphs(*plan)) return refuse(kNotSupported, "the engine fills no graphs");
  std::vector<LibraryWork> work;
  if (const int status = make_work(*plan, *pack, work)) return status;
  for (const LibraryWork& w : work) {
    if (w.add_to(graph)) return refuse(kExecutionFailed, "the graph takes no work");
  }
  count_run(*plan);
  return kSuccess;
}
