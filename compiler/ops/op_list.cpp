// All operators, by name.
#include <map>
#include <utility>

#include "compiler/ops/expansion.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"
#include "compiler/support/error.h"

namespace gcg {

std::vector<const OpDef*> all_ops() {
  return {
#define GCG_OP(name) &op_##name,
#define GCG_EXPANDED_OP(name) &op_##name.def,
#include "compiler/ops/expanded_ops.inc"
#include "compiler/ops/ops.inc"
#undef GCG_EXPANDED_OP
#undef GCG_OP
  };
}

const OpDef* find_op(const std::string& name, const std::string& domain) {
  using Key = std::pair<std::string, std::string>;
  static const std::map<Key, const OpDef*> table = [] {
    std::map<Key, const OpDef*> out;
    for (const OpDef* o : all_ops())
      GCG_CHECK(out.emplace(Key{o->domain, o->name}, o).second, "operator ", o->domain, ".", o->name,
                " is listed twice");
    return out;
  }();
  const auto it = table.find({domain == "ai.onnx" ? "" : domain, name});
  return it == table.end() ? nullptr : it->second;
}

const OpDef& op(const std::string& name, const std::string& domain) {
  const OpDef* o = find_op(name, domain);
  GCG_CHECK(o != nullptr, "no operator ", domain, domain.empty() ? "" : ".", name);
  return *o;
}

}  // namespace gcg
