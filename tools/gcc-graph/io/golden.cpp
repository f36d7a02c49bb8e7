#include "tools/gcc-graph/io/golden.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ostream>
#include <sstream>

#include "tools/gcc-graph/io/exact_numbers.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

constexpr const char* kFirstLine = "golden vectors 1";
constexpr const char* kHexDigits = "0123456789abcdef";
constexpr size_t kMostCases = 64, kMostRank = 16;

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) (text += kHexDigits[byte >> 4]) += kHexDigits[byte & 15];
  return text;
}

[[noreturn]] void fail_damaged(const std::string& line) {
  fail("the golden vectors are damaged at '", line.substr(0, 40), "'");
}

std::vector<uint8_t> unhex(const std::string& text) {
  std::vector<uint8_t> bytes;
  const auto digit = [&](char c) {
    const char* at = c == '\0' ? nullptr : std::strchr(kHexDigits, c);
    if (at == nullptr) fail_damaged(text);
    return static_cast<int>(at - kHexDigits);
  };
  if (text.size() % 2 != 0) fail_damaged(text);
  for (size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
  return bytes;
}

gart::DType dtype_of(const std::string& name, const std::string& line) {
  for (int i = 1; i < 32; ++i)
    if (const auto dtype = static_cast<gart::DType>(i); dtype != gart::DType::string && name == gart::name_of(dtype))
      return dtype;
  fail_damaged(line);
}

void write(std::ostream& out, const char* kind, const GoldenTensor& t) {
  out << kind << ' ' << gart::name_of(t.dtype) << ' ' << t.step << ' ' << t.shape.size();
  for (const int64_t extent : t.shape) out << ' ' << extent;
  out << ' ' << hex(std::vector<uint8_t>(t.name.begin(), t.name.end())) << '\n';
  if (!t.bytes.empty()) out << "data " << hex(t.bytes) << '\n';
}

GoldenTensor parse_tensor(std::istringstream& words, const std::string& line) {
  GoldenTensor t;
  std::string dtype, name;
  size_t rank = 0;
  words >> dtype >> t.step >> rank;
  if (!words || t.step < 1 || rank > kMostRank) fail_damaged(line);
  t.dtype = dtype_of(dtype, line);
  for (size_t d = 0; d < rank; ++d) words >> t.shape.emplace_back();
  words >> name;
  const std::vector<uint8_t> letters = unhex(name);
  if (!words || letters.empty()) fail_damaged(line);
  t.name.assign(letters.begin(), letters.end());
  checked_bytes(t.shape, t.dtype, "golden vectors: '" + t.name + "'");
  return t;
}

int64_t stored_elements(const GoldenTensor& t) {
  int64_t count = 1;
  for (const int64_t extent : t.shape) count *= extent;
  return (count + t.step - 1) / t.step;
}

template <class T>
T checked(gart::Result<T> result) {
  if (!result) throw Error(result.error().message);
  return std::move(*result);
}

const char* golden_of(const gart::Program& program) {
  for (size_t i = 0; program.metadata(i) != nullptr; i += 2)
    if (std::strcmp(program.metadata(i), kGoldenKey) == 0) return program.metadata(i + 1);
  fail("the file has no golden vectors: gcc-graph compile --golden 1 stores them");
}

bool check_output(const gart::TensorView& got, const GoldenTensor& want, const Tolerance& tolerance,
                  const TensorElement& element, std::ostream& out) {
  const auto extents = got.shape.extents();
  if (got.dtype != want.dtype || !std::equal(extents.begin(), extents.end(), want.shape.begin(), want.shape.end())) {
    out << want.name << ": FAIL, " << gart::name_of(got.dtype) << got.shape.text() << " where "
        << gart::name_of(want.dtype) << gart::Shape(std::span<const int64_t>(want.shape)).text() << " is expected\n";
    return false;
  }
  const std::vector<int64_t> length = {stored_elements(want)};
  const gart::TensorView stored{want.bytes.data(), want.dtype, gart::Shape(std::span<const int64_t>(length))};
  const Element x = [&](int64_t i) { return element(got, i * want.step); },
                y = [&](int64_t i) { return element(stored, i); };
  const Comparison found = compare_elements(length[0], x, y, tolerance);
  out << want.name << ": " << describe(found, x, y);
  if (want.step > 1) out << " (one element in " << want.step << ")";
  out << '\n';
  return found.ok;
}

}  // namespace

GoldenTensor golden_input(const std::string& name, const gart::TensorView& tensor) {
  const auto extents = tensor.shape.extents();
  return {name, tensor.dtype, {extents.begin(), extents.end()}, 1, {}};
}

GoldenTensor golden_output(const std::string& name, const gart::TensorView& tensor, int64_t most_bytes) {
  GoldenTensor t = golden_input(name, tensor);
  if (tensor.dtype == gart::DType::string) fail("--golden: output '", name, "' has strings");
  const int64_t count = tensor.shape.elements();
  const size_t size = gart::size_of(t.dtype);
  const int64_t most = std::clamp<int64_t>(most_bytes / static_cast<int64_t>(size), 1, kGoldenElements);
  t.step = std::max<int64_t>(1, (count + most - 1) / most);
  const auto* from = static_cast<const uint8_t*>(tensor.data);
  for (int64_t i = 0; i < count; i += t.step) {
    const uint8_t* at = from + static_cast<size_t>(i) * size;
    t.bytes.insert(t.bytes.end(), at, at + size);
  }
  return t;
}

std::string golden_text(const std::vector<GoldenCase>& cases) {
  std::ostringstream out;
  out << kFirstLine << '\n';
  for (const GoldenCase& c : cases) {
    out << "case " << c.seed << '\n';
    for (const GoldenTensor& t : c.inputs) write(out, "input", t);
    for (const GoldenTensor& t : c.outputs) write(out, "output", t);
  }
  return out.str();
}

std::vector<GoldenCase> parse_golden(const std::string& text) {
  std::istringstream lines(text);
  std::string line, kind;
  if (!std::getline(lines, line) || line != kFirstLine) fail_damaged(line);
  std::vector<GoldenCase> cases;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    words >> kind;
    if (kind == "case" && cases.size() < kMostCases) {
      if (!(words >> cases.emplace_back().seed)) fail_damaged(line);
    } else if (!cases.empty() && kind == "input") {
      cases.back().inputs.push_back(parse_tensor(words, line));
    } else if (!cases.empty() && kind == "output") {
      cases.back().outputs.push_back(parse_tensor(words, line));
    } else if (!cases.empty() && kind == "data" && !cases.back().outputs.empty()) {
      cases.back().outputs.back().bytes = unhex(line.substr(std::min(line.size(), size_t{5})));
    } else {
      fail_damaged(line);
    }
  }
  for (const GoldenCase& c : cases)
    for (const GoldenTensor& t : c.outputs)
      if (t.bytes.size() != static_cast<size_t>(stored_elements(t)) * gart::size_of(t.dtype)) fail_damaged(t.name);
  return cases;
}

bool check_golden(const gart::Program& program, const Tolerance& tolerance, const TensorElement& element,
                  std::ostream& out) {
  using Clock = std::chrono::steady_clock;
  bool all = true;
  for (const GoldenCase& c : parse_golden(golden_of(program))) {
    std::vector<HostTensor> inputs;
    std::vector<gart::NamedTensor> views;
    for (const GoldenTensor& t : c.inputs) inputs.push_back(exact_numbers(t.name, t.dtype, t.shape, c.seed));
    for (size_t i = 0; i < inputs.size(); ++i) views.push_back({c.inputs[i].name, inputs[i].view()});
    const auto begin = Clock::now();
    const std::vector<gart::Tensor> outputs = checked(program.run(std::span<const gart::NamedTensor>(views)));
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    out << "golden vectors of seed " << c.seed << ", " << ms << " ms\n";
    for (const GoldenTensor& want : c.outputs) {
      const auto got =
          std::find_if(outputs.begin(), outputs.end(), [&](const gart::Tensor& t) { return t.name() == want.name; });
      if (got == outputs.end()) fail("golden vectors: the model has no output '", want.name, "'");
      all = check_output(*got, want, tolerance, element, out) && all;
    }
  }
  return all;
}

}  // namespace gcg::tools
