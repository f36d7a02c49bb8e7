// Keys of expressions, equal exactly for equal expressions; rewriting and visiting.
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>

#include "compiler/kernel/expr.h"

namespace gcg {
namespace {

/// Gives structurally equal nodes one number, so that a shared subexpression takes one line of the key.
class KeyWriter {
 public:
  int number(const Expr& e) {
    if (auto it = seen_.find(e.get()); it != seen_.end()) return it->second;
    std::vector<int> args;
    for (const Expr& a : e->args) args.push_back(number(a));
    const std::string line = describe(*e, args);
    auto [it, fresh] = lines_.try_emplace(line, static_cast<int>(lines_.size()));
    if (fresh) text_ += line + ';';
    seen_[e.get()] = it->second;
    return it->second;
  }
  const std::string& text() const { return text_; }

 private:
  static std::string describe(const ExprNode& n, const std::vector<int>& args) {
    std::ostringstream out;
    out.precision(17);
    out << static_cast<int>(n.kind) << ':' << name_of(n.dtype);
    switch (n.kind) {
      case ExprKind::constant:
        if (is_float(n.dtype))
          out << '=' << std::hexfloat << n.number;
        else
          out << '=' << n.integer;
        break;
      case ExprKind::axis:
        out << 'i' << n.axis;
        break;
      case ExprKind::extent:
        out << '<' << n.dim.str() << '>';
        break;
      case ExprKind::load:
        out << 'o' << n.operand << (n.guarded ? "g" : "");
        break;
      case ExprKind::local:
        out << 'l' << n.local;
        break;
      case ExprKind::unary:
        out << 'u' << static_cast<int>(n.unary);
        break;
      case ExprKind::binary:
        out << 'b' << static_cast<int>(n.binary);
        break;
      case ExprKind::reduce:
        out << 'r' << static_cast<int>(n.reduce);
        for (const Axis& a : n.reduce_axes) out << '[' << a.id << '<' << a.extent.str() << ']';
        break;
      case ExprKind::accumulator:
      case ExprKind::select:
      case ExprKind::cast:
        break;
    }
    for (int a : args) out << ',' << a;
    return out.str();
  }

  std::unordered_map<const ExprNode*, int> seen_;
  std::map<std::string, int> lines_;
  std::string text_;
};

}  // namespace

std::string key(const Expr& e) {
  KeyWriter writer;
  const int root = writer.number(e);
  return writer.text() + "^" + std::to_string(root);
}

Expr rewrite(const Expr& root, const std::function<Expr(const Expr&)>& replace) {
  std::unordered_map<const ExprNode*, Expr> done;
  std::function<Expr(const Expr&)> go = [&](const Expr& e) -> Expr {
    if (auto it = done.find(e.get()); it != done.end()) return it->second;
    Expr r = replace(e);
    if (!r) {
      std::vector<Expr> args;
      bool changed = false;
      for (const Expr& a : e->args) {
        args.push_back(go(a));
        changed |= args.back() != a;
      }
      if (!changed) {
        r = e;
      } else
        switch (e->kind) {
          case ExprKind::unary:
            r = unary(e->unary, args[0]);
            break;
          case ExprKind::binary:
            r = binary(e->binary, args[0], args[1]);
            break;
          case ExprKind::select:
            r = select(args[0], args[1], args[2]);
            break;
          case ExprKind::cast:
            r = cast(e->dtype, args[0]);
            break;
          case ExprKind::reduce:
            r = reduce(e->reduce, e->reduce_axes, args[0]);
            break;
          default: {
            auto n = std::make_shared<ExprNode>(*e);
            n->args = std::move(args);
            r = n;
          }
        }
    }
    done.emplace(e.get(), r);
    return r;
  };
  return go(root);
}

void visit(const Expr& root, const std::function<void(const ExprNode&)>& see) {
  std::set<const ExprNode*> done;
  std::function<void(const Expr&)> go = [&](const Expr& e) {
    if (!done.insert(e.get()).second) return;
    see(*e);
    for (const Expr& a : e->args) go(a);
  };
  go(root);
}

std::set<int> free_axes(const Expr& root) {
  std::unordered_map<const ExprNode*, std::set<int>> done;
  std::function<const std::set<int>&(const Expr&)> go = [&](const Expr& e) -> const std::set<int>& {
    if (auto it = done.find(e.get()); it != done.end()) return it->second;
    std::set<int> free;
    if (e->kind == ExprKind::axis) free.insert(e->axis);
    for (const Expr& a : e->args) {
      const auto& inner = go(a);
      free.insert(inner.begin(), inner.end());
    }
    for (const Axis& a : e->reduce_axes) free.erase(a.id);
    return done.emplace(e.get(), std::move(free)).first->second;
  };
  return go(root);
}

}  // namespace gcg
