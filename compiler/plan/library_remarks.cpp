#include "compiler/plan/library_remarks.h"

#include <map>

#include "compiler/support/error.h"

namespace gcg {
namespace {

struct Left {
  int least_sm = 0;
  std::string too_old, first;  // a target, a step's nodes
  int64_t steps = 0;
};

/// What there is for one library, in steps.
struct Tally {
  int64_t bound = 0, unfit = 0, of_its_kind = 0;
  std::map<int, Left> left;  // by least SM
};

std::optional<LibraryOperation> operation_of(const Kernel& kernel) {
  if (std::holds_alternative<MatMulKernel>(kernel.body)) return LibraryOperation::matmul;
  if (std::holds_alternative<PlainConvKernel>(kernel.body)) return LibraryOperation::convolution;
  if (std::holds_alternative<AttentionKernel>(kernel.body)) return LibraryOperation::attention;
  return std::nullopt;
}

const char* plural(LibraryOperation operation) {
  switch (operation) {
    case LibraryOperation::matmul:
      return "matrix products";
    case LibraryOperation::convolution:
      return "convolutions";
    case LibraryOperation::attention:
      return "attention";
  }
  return "";
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
  Left& left = tally.left[outcome.least_sm];
  if (left.steps++ == 0) left = {outcome.least_sm, outcome.too_old, step.source, 1};
}

std::string left_text(const std::string& library, const Left& left) {
  const std::string others = left.steps > 1 ? concat(" and ", left.steps - 1, " more") : "";
  return concat("'", left.first, "'", others, " could be done by ", library, " on sm_", left.least_sm,
                " and newer, but ", left.too_old,
                " is asked for, too: kernels do it everywhere (--libraries auto has both)");
}

std::string idle_text(const LibraryScope& scope, const Tally& tally) {
  std::string kinds;
  for (const LibraryOperation o : scope.operations) kinds += concat(kinds.empty() ? "" : " and ", plural(o));
  if (tally.of_its_kind == 0)
    return concat(scope.library, " does nothing here: it is for ", kinds, ", and no kernel here is one");
  if (tally.unfit == 0)
    return concat(scope.library, " does nothing here: of ", tally.of_its_kind, " steps of its kind (", kinds,
                  ") none has types, extents, strides and fused operators that it takes");
  return concat(scope.library, " does nothing here: of ", tally.unfit,
                " steps that it could do, their weights or memory are in no form ", "that it takes");
}

}  // namespace

std::vector<std::string> library_remarks(const Plan& plan, const LibraryBinder& binder,
                                         const IndexedVector<KernelId, CallOutcome>& outcomes) {
  std::vector<std::string> remarks;
  for (const LibraryScope& scope : binder.scopes()) {
    Tally tally;
    for (const Sequence& sequence : plan.sequences)
      for (const Step& step : sequence.steps) {
        const auto* launch = step.as<Launch>();
        if (launch == nullptr) continue;
        count(step, plan.kernels[launch->kernel], outcomes[launch->kernel], scope, tally);
      }
    for (const auto& [sm, left] : tally.left) remarks.push_back(left_text(scope.library, left));
    if (tally.bound == 0 && tally.left.empty()) remarks.push_back(idle_text(scope, tally));
  }
  return remarks;
}

}  // namespace gcg
