#include "tools/gcc-graph/io/compare_elements.h"

#include <algorithm>
#include <cmath>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

Comparison compare_elements(int64_t count, const Element& got, const Element& expected, const Tolerance& tolerance) {
  Comparison out;
  double scale = 0;
  bool finite = true, each = true;
  for (int64_t i = 0; i < count; ++i) {
    const double g = got(i), e = expected(i);
    if (std::isnan(g) && std::isnan(e)) continue;
    if (g == e) {
      scale = std::max(scale, std::isfinite(e) ? std::fabs(e) : 0);
      continue;
    }
    const double error = std::fabs(g - e);
    each &= error <= tolerance.atol + tolerance.rtol * std::fabs(e);
    if (!(error <= out.absolute)) {
      out.absolute = error;
      out.at = i;
    }
    scale = std::max(scale, std::fabs(e));
    finite &= std::isfinite(error);
  }
  out.relative = scale > 0 ? out.absolute / scale : out.absolute;
  const bool largest = out.absolute <= tolerance.atol || out.relative <= tolerance.rtol;
  out.ok = finite && (tolerance.each ? each : largest);
  return out;
}

std::string describe(const Comparison& c, const Element& got, const Element& expected) {
  std::string text = concat(c.ok ? "ok" : "FAIL", ", relative error ", c.relative, ", absolute ", c.absolute);
  if (!c.ok && c.at >= 0) text += concat(" at element ", c.at, ": ", got(c.at), ", expected ", expected(c.at));
  return text;
}

}  // namespace gcg::tools
