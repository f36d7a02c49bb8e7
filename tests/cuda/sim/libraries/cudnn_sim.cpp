// libcudnn.so: graphs of convolutions and pointwise operations on the simulated device. Numbers are written from the library's
// documentation and apart from the runtime's own declarations, so that a mistake in either shows.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "tests/cuda/sim/libraries/library_work.h"

namespace {

using gart_sim::Tensor;
using gart_sim::Work;

enum Status : int { kSuccess = 0, kBadParam = 2000, kNotSupported = 3000, kExecutionFailed = 5000 };
enum DescriptorType : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kPlan = 5,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
};
enum AttributeType : int {
  kHandleType = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kBehaviorNote = 19,
};

size_t size_of(int type) {
  switch (type) {
    case kHandleType:
    case kInt64:
    case kPointer:
    case kDescriptor:
      return 8;
    case kBoolean:
      return 1;
    default:
      return 4;
  }
}

struct Handle {
  void* stream = nullptr;
};

struct Program;

struct Descriptor {
  explicit Descriptor(int t) : type(t) {}
  int type;
  bool is_final = false;
  struct Value {
    int type;
    std::vector<unsigned char> bytes;
  };
  std::map<int, Value> values;
  // Engines, configurations and plans: which one, of which graph; a plan needs the graph's descriptors no longer.
  int engine = 0;
  const Descriptor* graph = nullptr;
  std::shared_ptr<const Program> program;

  template <class T>
  [[nodiscard]] std::vector<T> list(int name) const {
    const auto it = values.find(name);
    if (it == values.end()) return {};
    std::vector<T> out(it->second.bytes.size() / sizeof(T));
    memcpy(out.data(), it->second.bytes.data(), out.size() * sizeof(T));
    return out;
  }
  template <class T>
  [[nodiscard]] T one(int name, T otherwise = {}) const {
    const auto values_of = list<T>(name);
    return values_of.empty() ? otherwise : values_of[0];
  }
  [[nodiscard]] const Descriptor* at(int name) const { return one<const Descriptor*>(name, nullptr); }
  [[nodiscard]] bool is_virtual() const { return one<unsigned char>(907) != 0; }
  [[nodiscard]] int64_t uid() const { return one<int64_t>(906); }
};

std::mutex mutex;
std::set<const void*>& alive() {
  static auto* objects = new std::set<const void*>;
  return *objects;
}
bool is_alive(const void* object) {
  const std::lock_guard lock(mutex);
  return alive().count(object) != 0;
}
std::string& last_error() {
  static thread_local std::string text;
  return text;
}
int refuse(int status, const char* text) {
  last_error() = text;
  return status;
}

int64_t product(const std::vector<int64_t>& values) {
  int64_t all = 1;
  for (const int64_t v : values) all *= v;
  return all;
}

// ---- What operations compute --------------------------------------------------------------------------------------------

// Values in f32, dense in row-major order.
struct Values {
  std::vector<int64_t> extents;
  std::vector<float> data;
};

// Element `index` (row-major) of extents as an offset by these strides.
int64_t offset_of(int64_t index, const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = extents.size(); d-- > 0; index /= extents[d]) offset += index % extents[d] * strides[d];
  return offset;
}

struct Program {
  struct Operation {
    int type, mode;  // mode: of pointwise operations
    const Descriptor *x, *b, *y, *how;
  };
  std::vector<Operation> operations;
  std::map<const Descriptor*, std::shared_ptr<Descriptor>> copies;

  explicit Program(const Descriptor& graph) {
    for (const Descriptor* o : graph.list<const Descriptor*>(801)) {
      const bool convolution = o->type == kConvolutionForward;
      operations.push_back(convolution ? Operation{o->type, 0, o->at(704), o->at(703), o->at(705), o->at(702)}
                                       : Operation{o->type, o->at(750)->one<int>(0), o->at(751), o->at(752), o->at(753), nullptr});
      Operation& last = operations.back();
      for (const Descriptor** d : {&last.x, &last.b, &last.y, &last.how}) *d = keep(*d);
    }
  }

 private:
  const Descriptor* keep(const Descriptor* d) {
    if (!d) return nullptr;
    auto& copy = copies[d];
    if (!copy) copy = std::make_shared<Descriptor>(*d);
    return copy.get();
  }
};

using Memory = std::map<int64_t, float*>;        // by uid: what is no virtual tensor
using Intermediates = std::map<int64_t, Values>;  // by uid

Values load(const Descriptor& t, const Memory& memory, const Intermediates& known) {
  if (t.is_virtual()) return known.at(t.uid());
  Values v{t.list<int64_t>(902), {}};
  const std::vector<int64_t> strides = t.list<int64_t>(903);
  const float* data = memory.at(t.uid());
  v.data.resize(static_cast<size_t>(product(v.extents)));
  for (size_t i = 0; i < v.data.size(); ++i) v.data[i] = data[offset_of(static_cast<int64_t>(i), v.extents, strides)];
  return v;
}

void store(const Descriptor& t, Values v, const Memory& memory, Intermediates& known) {
  if (t.is_virtual()) {
    known[t.uid()] = std::move(v);
    return;
  }
  const std::vector<int64_t> strides = t.list<int64_t>(903);
  float* data = memory.at(t.uid());
  for (size_t i = 0; i < v.data.size(); ++i) data[offset_of(static_cast<int64_t>(i), v.extents, strides)] = v.data[i];
}

Values convolve(const Values& x, const Values& w, const std::vector<int64_t>& out, const Descriptor& how) {
  const std::vector<int64_t> dilations = how.list<int64_t>(102), steps = how.list<int64_t>(103), pads = how.list<int64_t>(105);
  const int64_t depth = w.extents[1], per_group = out[1] / (x.extents[1] / depth);
  const std::vector<int64_t> window(w.extents.begin() + 2, w.extents.end());
  Values y{out, std::vector<float>(static_cast<size_t>(product(out)))};
  for (size_t i = 0; i < y.data.size(); ++i) {
    std::vector<int64_t> at(out.size());
    for (size_t d = out.size(), rest = i; d-- > 0; rest /= static_cast<size_t>(out[d])) {
      at[d] = static_cast<int64_t>(rest) % out[d];
    }
    double sum = 0;
    for (int64_t tap = 0; tap < product(window); ++tap) {
      int64_t place = 0, rest = tap, scale = 1;
      bool inside = true;
      for (size_t d = window.size(); d-- > 0; rest /= window[d]) {
        const int64_t p = at[d + 2] * steps[d] - pads[d] + rest % window[d] * dilations[d];
        inside = inside && p >= 0 && p < x.extents[d + 2];
        place += p * scale;
        scale *= x.extents[d + 2];
      }
      if (!inside) continue;
      for (int64_t c = 0; c < depth; ++c) {
        const int64_t channel = at[1] / per_group * depth + c;
        sum += double{x.data[static_cast<size_t>((at[0] * x.extents[1] + channel) * scale + place)]} *
               w.data[static_cast<size_t>((at[1] * depth + c) * product(window) + tap)];
      }
    }
    y.data[i] = static_cast<float>(sum);
  }
  return y;
}

Values pointwise(int mode, Values x, const Values& b) {
  for (size_t i = 0; i < x.data.size(); ++i) {
    if (mode == 100) {
      x.data[i] = x.data[i] > 0 ? x.data[i] : 0;
      continue;
    }
    std::vector<int64_t> strides(b.extents.size());  // 0 where b is repeated
    int64_t stride = 1;
    for (size_t d = strides.size(); d-- > 0; stride *= b.extents[d]) strides[d] = b.extents[d] == 1 ? 0 : stride;
    x.data[i] += b.data[static_cast<size_t>(offset_of(static_cast<int64_t>(i), x.extents, strides))];
  }
  return x;
}

void run(const Program& program, const Memory& memory) {
  Intermediates known;
  for (const Program::Operation& o : program.operations) {
    const Values x = load(*o.x, memory, known), b = o.b ? load(*o.b, memory, known) : Values{};
    const bool convolution = o.type == kConvolutionForward;
    store(*o.y, convolution ? convolve(x, b, o.y->list<int64_t>(902), *o.how) : pointwise(o.mode, x, b), memory, known);
  }
}

// ---- Descriptors --------------------------------------------------------------------------------------------------------

bool has_all(const Descriptor& d, std::initializer_list<int> names) {
  for (const int name : names) {
    if (d.values.count(name) == 0) return false;
  }
  return true;
}

int finalize_tensor(const Descriptor& d) {
  if (!has_all(d, {901, 902, 903, 906, 900})) return refuse(kBadParam, "a tensor without type, extents, strides, uid or alignment");
  const auto extents = d.list<int64_t>(902), strides = d.list<int64_t>(903);
  if (extents.size() != strides.size() || extents.size() < 3) return refuse(kBadParam, "a tensor of a wrong rank");
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 1 || strides[i] < 1) return refuse(kBadParam, "a tensor with an extent or stride below 1");
  }
  return kSuccess;
}

// out = (in + pads - window) / stride + 1, as the library wants it to the last element.
int finalize_convolution(const Descriptor& d) {
  if (!has_all(d, {700, 701, 702, 703, 704, 705})) return refuse(kBadParam, "a convolution without all its parts");
  const auto x = d.at(704)->list<int64_t>(902), w = d.at(703)->list<int64_t>(902), y = d.at(705)->list<int64_t>(902);
  const Descriptor& how = *d.at(702);
  const auto dilations = how.list<int64_t>(102), steps = how.list<int64_t>(103), behind = how.list<int64_t>(104),
             before = how.list<int64_t>(105);
  const size_t spatial = static_cast<size_t>(how.one<int64_t>(106));
  if (x.size() != spatial + 2 || w.size() != x.size() || y.size() != x.size() || spatial < 2)
    return refuse(kBadParam, "ranks of a convolution");
  if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0)
    return refuse(kBadParam, "channels of a convolution");
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t window = (w[i + 2] - 1) * dilations[i] + 1;
    if ((x[i + 2] + before[i] + behind[i] - window) / steps[i] + 1 != y[i + 2])
      return refuse(kBadParam, "extents of a convolution");
  }
  return kSuccess;
}

// An engine for tensors in one order alone, as the real ones are.
bool is_dense_weights(const Descriptor& w) {
  const auto extents = w.list<int64_t>(902), strides = w.list<int64_t>(903);
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0; stride *= extents[d]) {
    if (extents[d] > 1 && strides[d] != stride) return false;
  }
  return true;
}

int finalize_graph(const Descriptor& d) {
  if (!is_alive(d.one<const void*>(800))) return refuse(kBadParam, "an operation graph without a handle");
  const auto operations = d.list<const Descriptor*>(801);
  if (operations.empty()) return refuse(kBadParam, "an operation graph without operations");
  for (const Descriptor* operation : operations) {
    if (!operation->is_final) return refuse(kBadParam, "an operation that is not final");
  }
  return kSuccess;
}

int finalize_heuristic(const Descriptor& d) {
  for (const Descriptor* operation : d.at(201)->list<const Descriptor*>(801)) {
    if (operation->type == kConvolutionForward && !is_dense_weights(*operation->at(703)))
      return refuse(kNotSupported, "weights in another order than activations");
  }
  return kSuccess;
}

int finalize_plan(Descriptor& d) {
  const Descriptor* config = d.at(401);
  if (!config || !is_alive(d.one<const void*>(400))) return refuse(kBadParam, "a plan without configuration or handle");
  d.engine = config->engine;
  d.program = std::make_shared<Program>(*config->graph);
  return kSuccess;
}

int finalize(Descriptor& d) {
  switch (d.type) {
    case kTensor:
      return finalize_tensor(d);
    case kConvolution:
      return has_all(d, {100, 101, 102, 103, 104, 105, 106}) ? kSuccess : refuse(kBadParam, "an incomplete convolution");
    case kPointwise:
      return has_all(d, {0, 1}) ? kSuccess : refuse(kBadParam, "an incomplete pointwise operation");
    case kConvolutionForward:
      return finalize_convolution(d);
    case kPointwiseOperation:
      return has_all(d, {750, 751, 753}) ? kSuccess : refuse(kBadParam, "a pointwise operation without all its parts");
    case kOperationGraph:
      return finalize_graph(d);
    case kHeuristic:
      return finalize_heuristic(d);
    case kPlan:
      return finalize_plan(d);
    case kVariantPack:
      return has_all(d, {1000, 1001, 1003}) ? kSuccess : refuse(kBadParam, "an incomplete variant pack");
    default:
      return kSuccess;
  }
}

// ---- Engines: 0 uses tensor cores, 1 wants too much workspace, 2 and 3 are good, of which 2 fills graphs itself ---------------

constexpr int kEngines = 4;

std::vector<int> notes_of(const Descriptor& engine, int name) {
  if (name == 1303) return engine.engine == 0 ? std::vector<int>{0, 1} : std::vector<int>{};
  const bool fills = engine.engine == 2 && gart_sim::setting("GART_SIM_CUDNN_FILLS", 1) != 0;
  return fills ? std::vector<int>{3} : std::vector<int>{};
}

int64_t workspace_of(const Descriptor& plan) {
  if (plan.engine == 1) return int64_t{1} << 40;
  return plan.engine == 3 ? 0 : 256;
}

Tensor tensor_of(const Descriptor& t, const void* data) {
  return {reinterpret_cast<uint64_t>(data), 4, t.list<int64_t>(902), t.list<int64_t>(903)};
}

int make_work(const Descriptor& plan, const Descriptor& pack, std::vector<Work>& out) {
  if (!plan.is_final || !pack.is_final) return refuse(kBadParam, "a plan or a pack that is not final");
  const auto uids = pack.list<int64_t>(1000);
  const auto pointers = pack.list<float*>(1001);
  if (uids.size() != pointers.size()) return refuse(kBadParam, "as many uids as pointers");
  Memory memory;
  for (size_t i = 0; i < uids.size(); ++i) memory[uids[i]] = pointers[i];
  const std::shared_ptr<const Program> program = plan.program;
  Work work("cudnn graph", [program, memory] { run(*program, memory); });
  for (const auto& o : program->operations) {
    for (const Descriptor* d : {o.x, o.b, o.y}) {
      if (!d || d->is_virtual()) continue;
      if (memory.count(d->uid()) == 0) return refuse(kBadParam, "a tensor without an address");
      const Tensor tensor = tensor_of(*d, memory[d->uid()]);
      if (tensor.address % static_cast<uint64_t>(d->one<int64_t>(900)) != 0)
        return refuse(kBadParam, "a tensor that is less aligned than promised");
      d == o.y ? work.writes(tensor) : work.reads(tensor);
    }
  }
  if (workspace_of(plan) > 0) {
    float* workspace = pack.one<float*>(1003);
    const Tensor bytes = {reinterpret_cast<uint64_t>(workspace), 4, {workspace_of(plan) / 4}, {1}};
    Work clear("cudnn clears its workspace", [workspace, count = workspace_of(plan)] { memset(workspace, 0, static_cast<size_t>(count)); });
    out.push_back(clear.writes(bytes));
    work.reads(bytes);
  }
  out.push_back(work);
  return kSuccess;
}

}  // namespace

GART_SIM_API size_t gart_sim_cudnn_alive() {
  const std::lock_guard lock(mutex);
  return alive().size();
}

GART_SIM_API size_t cudnnGetVersion() { return gart_sim::setting("GART_SIM_CUDNN", 91900); }
GART_SIM_API const char* cudnnGetErrorString(int status) {
  if (status == kNotSupported) return "CUDNN_STATUS_NOT_SUPPORTED";
  return status == kBadParam ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_OTHER";
}
GART_SIM_API void cudnnGetLastErrorString(char* out, size_t bytes) {
  strncpy(out, last_error().c_str(), bytes);
  last_error().clear();
}

GART_SIM_API int cudnnCreate(Handle** out) {
  if (const int injected = gart_sim_call("cudnnCreate")) return injected;
  *out = new Handle;
  const std::lock_guard lock(mutex);
  alive().insert(*out);
  return kSuccess;
}
GART_SIM_API int cudnnDestroy(Handle* handle) {
  gart_sim_call("cudnnDestroy");
  const std::lock_guard lock(mutex);
  if (alive().erase(handle) == 0) return kBadParam;
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
  *out = new Descriptor(type);
  const std::lock_guard lock(mutex);
  alive().insert(*out);
  return kSuccess;
}
GART_SIM_API int cudnnBackendDestroyDescriptor(Descriptor* d) {
  gart_sim_call("cudnnBackendDestroyDescriptor");
  const std::lock_guard lock(mutex);
  if (alive().erase(d) == 0) return kBadParam;
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

GART_SIM_API int cudnnBackendGetAttribute(Descriptor* d, int name, int type, int64_t wanted, int64_t* count, void* values) {
  if (const int injected = gart_sim_call("cudnnBackendGetAttribute")) return injected;
  if (!is_alive(d)) return refuse(kBadParam, "a descriptor that is not alive");
  if (name == 202) {
    *count = kEngines;
    for (int i = 0; values && i < std::min<int64_t>(wanted, kEngines); ++i) {
      auto* config = static_cast<Descriptor**>(values)[i];
      config->engine = i;
      config->graph = d->at(201);
      config->is_final = true;
    }
    return kSuccess;
  }
  if (name == 301 - 1) {
    if (wanted < 1 || !values) return refuse(kBadParam, "no place for the engine");
    Descriptor* engine = *static_cast<Descriptor**>(values);
    engine->engine = d->engine;
    engine->is_final = true;
    *count = 1;
    return kSuccess;
  }
  if (name == 1303 || name == 1305) {
    if (type != (name == 1303 ? kNumericalNote : kBehaviorNote)) return refuse(kBadParam, "another type of notes");
    const std::vector<int> notes = notes_of(*d, name);
    *count = static_cast<int64_t>(notes.size());
    if (values) memcpy(values, notes.data(), std::min<size_t>(notes.size(), static_cast<size_t>(wanted)) * sizeof(int));
    return kSuccess;
  }
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
  std::vector<Work> work;
  if (const int status = make_work(*plan, *pack, work)) return status;
  for (const Work& w : work) {
    if (w.enqueue(handle->stream)) return refuse(kExecutionFailed, "the stream takes no work");
  }
  return kSuccess;
}

GART_SIM_API int cudnnBackendPopulateCudaGraph(Handle* handle, Descriptor* plan, Descriptor* pack, void* graph) {
  if (const int injected = gart_sim_call("cudnnBackendPopulateCudaGraph")) return injected;
  if (!is_alive(handle) || plan->engine != 2) return refuse(kNotSupported, "the engine fills no graphs");
  std::vector<Work> work;
  if (const int status = make_work(*plan, *pack, work)) return status;
  for (const Work& w : work) {
    if (w.add_to(graph)) return refuse(kExecutionFailed, "the graph takes no work");
  }
  return kSuccess;
}
