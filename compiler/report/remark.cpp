#include "compiler/report/remark.h"

#include "compiler/plan/plan.h"

namespace gcg {

Remark::Plans plans_of(const Plan& plan) { return {plan.device, plan.fixed}; }

}  // namespace gcg
