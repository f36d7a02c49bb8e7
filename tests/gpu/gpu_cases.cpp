#include "tests/gpu/gpu_cases.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <iostream>
#include <sstream>
#include <vector>

#include "codegen/cuda/cuda_backend.h"
#include "compiler/compile.h"
#include "compiler/import/import.h"
#include "compiler/support/error.h"
#include "compiler/support/unsupported.h"
#include "gart/gart.hpp"
#include "tests/gpu/keep_context.h"
#include "tools/gcc-graph/io/compare_elements.h"
#include "tools/gcc-graph/io/npz.h"

namespace gcg::test {
namespace {

constexpr int kMostSeconds = 120;  // seconds for one case

struct Case {
  std::string name;
  int sets = 0;
  tools::Tolerance tolerance;
};

std::vector<Case> read_cases(std::istream& in) {
  std::vector<Case> cases;
  Case c;
  c.tolerance.each = true;
  while (in >> c.name >> c.sets >> c.tolerance.rtol >> c.tolerance.atol) cases.push_back(c);
  return cases;
}

Tensor view_of(const gart::TensorView& t) {
  const auto extents = t.shape.extents();
  return {static_cast<DType>(t.dtype), {extents.begin(), extents.end()}, t.data, nullptr};
}

/// Empty if the output is as expected, else the reason.
std::string difference(const gart::TensorView& got, const gart::TensorView& want, const tools::Tolerance& tolerance) {
  if (got.dtype != want.dtype || got.shape.text() != want.shape.text())
    return concat(gart::name_of(got.dtype), got.shape.text(), " where ", gart::name_of(want.dtype), want.shape.text(),
                  " is expected");
  const Tensor x = view_of(got), y = view_of(want);
  const tools::Element of_x = [&](int64_t i) { return x.at_double(i); },
                       of_y = [&](int64_t i) { return y.at_double(i); };
  const tools::Comparison found = tools::compare_elements(x.elements(), of_x, of_y, tolerance);
  return found.ok ? "" : tools::describe(found, of_x, of_y);
}

class Judge {
 public:
  Judge(std::string folder, std::string target) : folder_(std::move(folder)), target_(std::move(target)) {
    backends_.push_back(cuda::make_cuda_backend());
  }

  std::string line(const Case& c) const try {
    const std::vector<uint8_t> artifact = compiled(c.name);
    gart::LoadOptions options;
    options.device = "cuda";
    auto program = gart::load(std::span<const uint8_t>(artifact), options);
    if (!program) return failed(c, program.error().message);
    keep_context();
    for (int set = 0; set < c.sets; ++set)
      if (const std::string why = run(*program, c, set); !why.empty()) return failed(c, why);
    return "passed " + c.name;
  } catch (const UnsupportedModel&) {
    return "unsupported " + c.name;
  } catch (const std::exception& e) {
    return failed(c, e.what());
  }

 private:
  static std::string failed(const Case& c, std::string why) {
    std::replace(why.begin(), why.end(), '\n', ' ');
    return concat("FAILED ", c.name, ": ", why);
  }

  std::string file(const std::string& name, const std::string& what) const { return folder_ + "/" + name + "/" + what; }

  std::vector<uint8_t> compiled(const std::string& name) const {
    ImportedModel model = import_onnx(file(name, "model.onnx"));
    CompileOptions options;
    options.targets = {target_};
    options.threads = 1;
    options.labels = model.labels;
    return compile(std::move(model.graph), model.source_hash, options, backends_).artifact;
  }

  std::string run(const gart::Program& program, const Case& c, int set) const {
    const tools::NamedTensors inputs = tools::read_npz(file(c.name, concat("in_", set, ".npz")));
    const tools::NamedTensors expected = tools::read_npz(file(c.name, concat("out_", set, ".npz")));
    std::vector<gart::NamedTensor> views;
    for (const auto& [name, tensor] : inputs) views.push_back({name, tensor.view()});
    auto outputs = program.run(std::span<const gart::NamedTensor>(views));
    if (!outputs) return outputs.error().message;
    for (const auto& [name, want] : expected) {
      const auto got = std::ranges::find_if(*outputs, [&](const gart::Tensor& t) { return t.name() == name; });
      if (got == outputs->end()) return concat("the model has no output '", name, "'");
      if (const std::string why = difference(*got, want.view(), c.tolerance); !why.empty())
        return concat("output '", name, "': ", why);
    }
    return "";
  }

  const std::string folder_, target_;
  Backends backends_;
};

/// A child process that runs cases from `first` on until one fails.
class Worker {
 public:
  Worker(const Judge& judge, const std::vector<Case>& cases, size_t first, int64_t until) {
    int ends[2];
    GCG_CHECK(pipe(ends) == 0, "no pipe");
    child_ = fork();
    GCG_CHECK(child_ >= 0, "no process");
    if (child_ != 0) {
      close(ends[1]);
      from_ = ends[0];
      return;
    }
    for (size_t i = first; i < cases.size() && time(nullptr) < until; ++i) {
      const std::string line = judge.line(cases[i]) + "\n";
      if (write(ends[1], line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
      if (line[0] == 'F') break;
    }
    _exit(0);
  }
  ~Worker() {
    close(from_);
    if (!ended_) waitpid(child_, nullptr, 0);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Returns false if there is no further line. `why` is then the reason, or empty if the process ended normally.
  bool next_line(std::string& line, std::string& why) {
    for (;;) {
      if (const size_t end = text_.find('\n'); end != std::string::npos) {
        line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return true;
      }
      pollfd wait{from_, POLLIN, 0};
      if (poll(&wait, 1, 1000 * kMostSeconds) == 0) {
        kill(child_, SIGKILL);
        why = concat("not done after ", kMostSeconds, " s");
        return false;
      }
      char buffer[4096];
      const ssize_t bytes = read(from_, buffer, sizeof buffer);
      if (bytes > 0) {
        text_.append(buffer, static_cast<size_t>(bytes));
        continue;
      }
      int status = 0;
      ended_ = waitpid(child_, &status, 0) == child_;
      if (WIFSIGNALED(status)) why = concat("the process ended by signal ", WTERMSIG(status));
      if (WIFEXITED(status) && WEXITSTATUS(status) != 0) why = concat("the process ended with ", WEXITSTATUS(status));
      return false;
    }
  }

 private:
  pid_t child_ = -1;
  int from_ = -1;
  bool ended_ = false;
  std::string text_;
};

}  // namespace

int run_cases(const std::string& folder, const std::string& target, int64_t until) {
  const std::vector<Case> cases = read_cases(std::cin);
  const Judge judge(folder, target);
  for (size_t next = 0; next < cases.size() && time(nullptr) < until;) {
    Worker worker(judge, cases, next, until);
    std::string line, why;
    while (next < cases.size() && worker.next_line(line, why)) {
      std::cout << line << std::endl;
      ++next;
    }
    if (!why.empty()) std::cout << "FAILED " << cases[next++].name << ": " << why << std::endl;
  }
  return 0;
}

}  // namespace gcg::test
