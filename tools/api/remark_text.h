// The text of the compiler's remarks.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/faster_options.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/remark.h"

namespace gcc_graph::detail {

/// One or more sentences per remark: "CPUs [batch=1]: one kernel for ...".
std::vector<std::string> sentences_of(const std::vector<gcg::Remark>& remarks);

/// One sentence for each option that would make the file faster.
std::vector<std::string> sentences_of(const gcg::FasterOptions& faster);

/// "batch=1,seq=128", "symbolic", "load-time packing".
std::string shapes_text(const gcg::PlanReport& plan);

}  // namespace gcc_graph::detail
