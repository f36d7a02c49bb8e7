// The contents of the simulated cuDNN's descriptors. Numbers are written from the library's documentation,
// independently of the runtime's declarations, so that a mistake in either is detected.
#ifndef GART_TESTS_CUDA_SIM_LIBRARIES_CUDNN_DESCRIPTOR_H
#define GART_TESTS_CUDA_SIM_LIBRARIES_CUDNN_DESCRIPTOR_H

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace gart_sim::cudnn {

enum Status : int { kSuccess = 0, kBadParam = 2000, kNotSupported = 3000, kExecutionFailed = 5000 };
enum DescriptorType : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kPlan = 5,
  kKnobChoice = 7,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kAttentionForward = 41,
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
  kKnobType = 9,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionMode = 18,
  kBehaviorNote = 19,
};
enum ElementType : int { kF32 = 0, kF16 = 2, kBf16 = 9 };
enum PointwiseMode : int { kAdd = 0, kMul = 1, kDiv = 6, kSub = 9, kExp = 13, kLog = 15, kRelu = 100 };
enum ReductionMode : int { kSum = 0, kMax = 3 };

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
  // For engines, configurations and plans: the engine's index, the values of its knobs, and the graph. A plan no longer
  // needs the graph's descriptors.
  int engine = 0;
  std::map<int, int64_t> knobs;
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
  [[nodiscard]] bool has(std::initializer_list<int> names) const;
  // True if the attribute has one value of this type.
  [[nodiscard]] bool has_one(int name, AttributeType type) const;
  // For tensors:
  [[nodiscard]] int element_type() const { return one<int>(901); }
  [[nodiscard]] std::vector<int64_t> extents() const { return list<int64_t>(902); }
  [[nodiscard]] std::vector<int64_t> strides() const { return list<int64_t>(903); }
  [[nodiscard]] int64_t uid() const { return one<int64_t>(906); }
  [[nodiscard]] bool is_virtual() const { return one<unsigned char>(907) != 0; }
  [[nodiscard]] bool is_by_value() const { return one<unsigned char>(908) != 0; }
};

// The objects that the caller holds.
void now_alive(const void* object);
bool was_alive(const void* object);  // true if the object is no longer live
bool is_alive(const void* object);
bool is_final(const Descriptor* d, DescriptorType type);  // and live
size_t count_alive();

// Returns the status. cudnnGetLastErrorString returns the text once.
int refuse(int status, const char* text);
const char* take_last_error();

size_t size_of(int attribute_type);

// The library's status when the descriptor is finalized. For the graph of a heuristic or an engine, the status depends
// on whether engines support the graph.
int finalize(Descriptor& d);
int check_graph(const Descriptor* graph);
int check_convolution(const Descriptor& operation);
int check_convolution_graph(const std::vector<const Descriptor*>& operations);
int check_attention(const Descriptor& operation);
int check_attention_graph(const std::vector<const Descriptor*>& operations);

}  // namespace gart_sim::cudnn
#endif
