#include "tests/plan/plan_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>

#include "compiler/plan/bind_libraries.h"
#include "compiler/plan/drop_unused.h"
#include "compiler/plan/overlap_launches.h"
#include "compiler/plan/parallel_modes.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/print_plan.h"
#include "compiler/plan/recompute.h"
#include "compiler/plan/select_code.h"
#include "compiler/plan/streams.h"
#include "compiler/plan/verify_plan.h"
#include "compiler/plan/waits.h"
#include "compiler/support/error.h"

namespace gcg::test {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

[[noreturn]] void malformed(const std::string& line) {
  throw std::runtime_error("not a line of a plan: '" + line + "'");
}

std::vector<int64_t> numbers_of(const std::string& text) {
  std::vector<int64_t> out;
  std::istringstream in(text);
  for (int64_t n = 0; in >> n;) out.push_back(n);
  return out;
}

class Parser {
 public:
  Plan run(const std::string& text) {
    plan_.device = DeviceClass::cuda;
    plan_.target = 0;
    for (const std::string& line : lines_of(text)) parse(line);
    for (const auto& [k, facts] : facts_) describe(KernelId(k), facts);
    for (const Sequence& sequence : plan_.sequences)
      for (const Step& step : sequence.steps) plan_.streams = std::max(plan_.streams, step.stream + 1);
    return std::move(plan_);
  }

 private:
  void parse(const std::string& line) {
    static const std::regex kernel(R"(kernel k(\d+) (.*))"), sequence(R"(sequence \d+)"),
        buffer(R"(buffer %\d+\(([^)]*)\) (\w+)(?: (\d+))?, (\d+) bytes(?:, block (\d+) at (\d+))?)");
    std::smatch m;
    if (line.rfind("for ", 0) == 0)
      plan_.machine = &machine_of(find_target(line.substr(4)).value());
    else if (std::regex_match(line, m, kernel))
      facts_[std::stoi(m[1])] = m[2];
    else if (std::regex_match(line, m, buffer))
      add_buffer(m);
    else if (std::regex_match(line, sequence))
      plan_.sequences.push_back({});
    else
      add_step(line);
  }

  void add_buffer(const std::smatch& m) {
    static const Lines kinds = {"input", "output", "constant", "temporary", "packed"};
    Buffer b;
    b.kind = static_cast<Buffer::Kind>(std::find(kinds.begin(), kinds.end(), m[2]) - kinds.begin());
    b.name = m[1];
    b.index = m[3].matched ? std::stoi(m[3]) : 0;
    b.bytes = Dim(std::stoll(m[4]));
    if (m[5].matched) lay_out(b, std::stoi(m[5]), std::stoll(m[6]));
    plan_.buffers.push_back(std::move(b));
  }

  void lay_out(Buffer& b, int block, int64_t offset) {
    MemoryPlan& memory = plan_.memory;
    const size_t count = std::max(memory.blocks.size(), static_cast<size_t>(block) + 1);
    memory.is_static = true;
    memory.blocks.resize(count);
    memory.block_bytes.resize(count);
    memory.layout.offsets.resize(count);
    b.block = block;
    memory.blocks[static_cast<size_t>(block)].size = b.bytes.constant();
    memory.block_bytes[static_cast<size_t>(block)] = b.bytes;
    memory.layout.offsets[static_cast<size_t>(block)] = offset;
    memory.layout.bytes = std::max(memory.layout.bytes, offset + b.bytes.constant());
  }

  void add_step(const std::string& line) {
    static const std::regex pattern(R"( *\d+: ([^;/]*?)((?:; [^;/]*?)*)(?: // (.*))?)"),
        attribute(R"(; ([a-z ]*?)((?: \d+)*)(?=;|$))");
    std::smatch m;
    if (!std::regex_match(line, m, pattern) || plan_.sequences.empty()) malformed(line);
    Step step{work(m[1], line), m[3]};
    const std::string attributes = m[2];
    for (std::sregex_iterator a(attributes.begin(), attributes.end(), attribute), end; a != end; ++a)
      set(step, (*a)[1], numbers_of((*a)[2]), line);
    plan_.entry().steps.push_back(std::move(step));
  }

  static void set(Step& step, const std::string& attribute, const std::vector<int64_t>& numbers,
                  const std::string& line) {
    auto* launch = step.as<Launch>();
    if (attribute == "waits")
      for (int64_t n : numbers) step.waits.push_back(StepId(n));
    else if (attribute == "stream" && numbers.size() == 1)
      step.stream = static_cast<int>(numbers[0]);
    else if (launch != nullptr && attribute == "in place")
      launch->in_place.assign(numbers.begin(), numbers.end());
    else if (launch != nullptr && attribute == "overlaps")
      launch->overlaps = true;
    else if (launch != nullptr && attribute == "continues")
      launch->continues = true;
    else
      malformed(line);
  }

  decltype(Step::work) work(const std::string& text, const std::string& line) {
    static const std::regex operand(R"((>?)%(\d+)\([^)]*\))");
    std::vector<BufferId> operands;
    std::vector<int> writes;
    for (std::sregex_iterator o(text.begin(), text.end(), operand), end; o != end; ++o) {
      if ((*o)[1].length() > 0) writes.push_back(static_cast<int>(operands.size()));
      operands.push_back(BufferId(std::stoi((*o)[2])));
    }
    std::istringstream words(text);
    std::string kind, second;
    words >> kind >> second;
    if (kind == "launch") return launch(second, std::move(operands), std::move(writes));
    if (kind == "copy") return Copy{operands.at(1), operands.at(0)};
    if (kind == "bind") return Bind{second, operands.at(0)};
    if (kind == "fail") return Fail{"it fails"};
    static const std::regex branch(R"(branch .* bodies (\d+) (\d+))"),
        loop(R"(loop %(\d+)\(.*\) while none iteration none body (\d+))");
    std::smatch m;
    if (std::regex_match(text, m, branch))
      return Branch{operands.at(0), {SequenceId(std::stoi(m[1])), SequenceId(std::stoi(m[2]))}};
    if (std::regex_match(text, m, loop))
      return Loop{BufferId(std::stoi(m[1])), BufferId(), BufferId(), {}, SequenceId(std::stoi(m[2]))};
    malformed(line);
  }

  Launch launch(const std::string& number, std::vector<BufferId> operands, std::vector<int> writes) {
    const KernelId kernel(std::stoi(number.substr(1)));
    auto& kernels = plan_.kernels;
    while (!kernels.contains(kernel)) kernels.push_back({concat("k", kernels.size()), {}, {}, LoopKernel{}});
    if (kernels[kernel].operands.empty())
      for (size_t i = 0; i < operands.size(); ++i)
        kernels[kernel].operands.push_back(
            {DType::f32,
             {Dim(plan_.buffers[operands[i]].bytes.constant() / 4)},
             std::find(writes.begin(), writes.end(), static_cast<int>(i)) != writes.end()});
    return {kernel, std::move(operands), std::move(writes)};
  }

  void describe(KernelId k, const std::string& facts) {
    while (plan_.code.size() < plan_.kernels.size()) plan_.code.push_back({});
    if (facts.rfind("waits", 0) != 0) {
      plan_.kernels[k].name = facts;
      return;
    }
    const auto after = [&](const std::string& word) {
      const size_t at = facts.find(word);
      return numbers_of(at == std::string::npos ? "" : facts.substr(at + word.size()));
    };
    plan_.code[k].waits = true;
    plan_.code[k].ahead_bytes = 4096;
    for (int64_t o : after("ahead")) plan_.code[k].ahead.push_back(static_cast<int>(o));
    for (int64_t blocks : after("blocks")) plan_.code[k].tasks = Dim(blocks);
  }

  Plan plan_;
  std::map<int, std::string> facts_;
};

/// Binds the kernels that the text assigns to a library.
class Binder final : public LibraryBinder {
 public:
  std::optional<LibraryCall> bind(const Kernel& kernel) const override {
    if (kernel.name.find("library") == std::string::npos) return std::nullopt;
    LibraryCall call;
    call.library = "lib";
    call.operation = LibraryOperation::matmul;
    call.addend = true;
    const auto result = static_cast<int>(kernel.operands.size()) - 1;
    for (int operand : {0, 1, result, result - 1})
      call.tensors.push_back({operand, Dim(0), {Dim(1), Dim(1), Dim(1)}, {Dim(1), Dim(1), Dim(1)}});
    return call;
  }
};

/// Compiles kernels that the text marks as followed to two launches.
class Followed final : public Backend {
 public:
  DeviceClass device() const override { return DeviceClass::cuda; }
  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target&, int) const override {
    CompiledBlob blob;
    blob.kernels.resize(kernels.size());
    for (size_t k = 0; k < kernels.size(); ++k) {
      if (kernels[k]->name.find("followed") == std::string::npos) continue;
      blob.kernels[k].then = static_cast<int>(blob.kernels.size());
      blob.kernels.emplace_back();
    }
    return blob;
  }
};

void select(Plan& plan) {
  std::vector<Plan> plans;
  plans.push_back(std::move(plan));
  plans[0].code.clear();
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<Followed>());
  select_code(*find_target("sm_80"), 0, plans, backends, 1);
  plan = std::move(plans[0]);
}

void bind(Plan& plan, bool fallbacks) {
  const Target target = *find_target("sm_80");
  LibraryCalls(plan, {target}, {std::make_shared<Binder>(), fallbacks}).bind(plan, target);
}

void link(Plan& plan) {
  for (Sequence& sequence : plan.sequences) link_waits(plan, sequence);
}

void choose_modes(Plan& plan) {
  plan.device = DeviceClass::cpu;
  plan.machine = &machine_of(*find_target("x86-64-v3"));
  choose_parallel_modes(plan, std::nullopt);
}

/// Under a limit of 500 KB.
void fit(Plan& plan) {
  plan.device = DeviceClass::cpu;
  fit_memory(plan, Graph(), 500'000, machine_of(*find_target("x86-64-v3")));
}

const std::map<std::string, std::function<void(Plan&)>> kPasses = {
    {"assign_streams", assign_streams},
    {"bind_libraries", [](Plan& p) { bind(p, false); }},
    {"bind_libraries_with_kernels", [](Plan& p) { bind(p, true); }},
    {"choose_parallel_modes", choose_modes},
    {"drop_unused", drop_unused},
    {"fit_memory", fit},
    {"link_waits", link},
    {"overlap_launches", overlap_launches},
    {"plan_memory", [](Plan& p) { plan_memory(p, std::nullopt); }},
    {"select_code", select},
};

/// The error's message, or "sound".
std::string verdict(const Plan& plan) {
  try {
    verify_plan(plan);
    return "sound\n";
  } catch (const InternalError& e) {
    return std::regex_replace(std::string(e.what()), std::regex(R"(^internal error \(please report\): (.*?) \[.*)"),
                              "$1") +
           "\n";
  }
}

std::vector<PlanCase> read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<PlanCase> out;
  bool expecting = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.rfind("CASE ", 0) == 0) {
      out.push_back({path.stem().string(), line.substr(5), number, {}, "", ""});
      expecting = false;
    } else if (line.rfind("PASS ", 0) == 0 && !out.empty()) {
      std::istringstream words(line.substr(5));
      for (std::string pass; words >> pass;) out.back().passes.push_back(pass);
    } else if (line == "EXPECT") {
      expecting = true;
    } else if (!line.empty() && line[0] != '#') {
      if (out.empty()) throw std::runtime_error(path.string() + ": text before the first CASE");
      (expecting ? out.back().expected : out.back().plan) += line + "\n";
    }
  }
  return out;
}

}  // namespace

std::vector<PlanCase> read_plan_cases(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".plan") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<PlanCase> out;
  for (const auto& file : files)
    for (PlanCase& c : read_file(file)) out.push_back(std::move(c));
  return out;
}

void run_plan_case(const PlanCase& c) {
  SCOPED_TRACE(c.file + ".plan, line " + std::to_string(c.line));
  Plan plan = Parser().run(c.plan);
  std::string said;
  for (const std::string& pass : c.passes) {
    if (pass == "verify_plan") {
      said = verdict(plan);
      continue;
    }
    const auto it = kPasses.find(pass);
    ASSERT_NE(it, kPasses.end()) << "there is no pass '" << pass << "'";
    it->second(plan);
  }
  const bool all = c.expected.rfind("buffer", 0) == 0;
  EXPECT_EQ(!said.empty() ? said : all ? print_buffers(plan) + print_steps(plan) : print_steps(plan), c.expected);
}

}  // namespace gcg::test
