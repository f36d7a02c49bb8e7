#include "compiler/report/library_use.h"

#include <algorithm>
#include <map>
#include <optional>

namespace gcg {
namespace {

/// Counts the steps of one library.
struct Tally {
  int64_t bound = 0, unfit = 0, of_its_kind = 0;
  std::map<int, SkippedLibrary> left_out;  // by least SM
};

std::optional<LibraryOperation> operation_of(const Kernel& kernel) {
  if (std::holds_alternative<MatMulKernel>(kernel.body)) return LibraryOperation::matmul;
  if (std::holds_alternative<PlainConvKernel>(kernel.body)) return LibraryOperation::convolution;
  if (std::holds_alternative<AttentionKernel>(kernel.body)) return LibraryOperation::attention;
  return std::nullopt;
}

void count(const Step& step, const Kernel& kernel, const CallOutcome& outcome, const LibraryScope& scope,
           Tally& tally) {
  const auto operation = operation_of(kernel);
  for (const LibraryOperation o : scope.operations) tally.of_its_kind += operation == o;
  if (outcome.library != scope.library) return;
  if (outcome.too_old.empty()) {
    ++(outcome.bound ? tally.bound : tally.unfit);
    return;
  }
  const SkippedLibrary first{scope.library, outcome.least_sm, outcome.too_old, step.source, 0};
  ++tally.left_out.emplace(outcome.least_sm, first).first->second.steps;
}

}  // namespace

std::vector<std::variant<UnusedLibrary, SkippedLibrary>> unused_libraries(
    const Plan& plan, const LibraryBinder& binder, const IndexedVector<KernelId, CallOutcome>& outcomes) {
  std::vector<std::variant<UnusedLibrary, SkippedLibrary>> unused;
  for (const LibraryScope& scope : binder.scopes()) {
    Tally tally;
    for (const Sequence& sequence : plan.sequences)
      for (const Step& step : sequence.steps) {
        const auto* launch = step.as<Launch>();
        if (launch == nullptr) continue;
        count(step, plan.kernels[launch->kernel], outcomes[launch->kernel], scope, tally);
      }
    for (const auto& [sm, left_out] : tally.left_out) unused.push_back(left_out);
    if (tally.bound == 0 && tally.left_out.empty())
      unused.push_back(UnusedLibrary{
          scope.library, {scope.operations.begin(), scope.operations.end()}, tally.of_its_kind, tally.unfit});
  }
  return unused;
}

}  // namespace gcg
