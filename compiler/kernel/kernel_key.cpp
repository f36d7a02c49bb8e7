#include <sstream>

#include "compiler/kernel/kernel.h"
#include "compiler/kernel/kernel_parts.h"

namespace gcg {
namespace {

/// Writes the parts of a kernel in order. The fuser renumbers axis ids, so equal kernels have equal ids.
class KeyText {
 public:
  KeyText& operator<<(const std::string& s) {
    out_ << s << '|';
    return *this;
  }
  KeyText& operator<<(int64_t v) {
    out_ << v << '|';
    return *this;
  }
  KeyText& operator<<(const Dim& d) {
    out_ << d.str() << '|';
    return *this;
  }
  KeyText& operator<<(const Axis& a) {
    out_ << a.id << '<' << a.extent.str() << '|';
    return *this;
  }
  KeyText& operator<<(const Expr& e) {
    out_ << (e ? key(e) : std::string("-")) << '|';
    return *this;
  }
  template <class T>
  KeyText& operator<<(const std::vector<T>& v) {
    out_ << '{';
    for (const T& x : v) *this << x;
    out_ << '}';
    return *this;
  }
  std::string str() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

/// Writes each part of a kernel.
struct KeyOfParts {
  KeyText& text;
  void name(const char* kind) { text << std::string(kind); }
  void number(int64_t n) { text << n; }
  void dim(const Dim& d) { text << d; }
  void axis(const Axis& a) { text << a; }
  void operand(int o) { text << int64_t{o}; }
  void expr(const Expr& e) { text << e; }
  void begin(size_t count) { text << static_cast<int64_t>(count); }
};

template <class Body>
void write(KeyText& t, const Body& k) {
  KeyOfParts key{t};
  each_part(key, k);
}

void write_call(KeyText& t, const Statement& s) {
  t << s.function << s.attributes << static_cast<int64_t>(s.workspace) << s.workspace_bytes;
  for (const auto* arguments : {&s.inputs, &s.outputs}) {
    t << std::string("(");
    for (const CallArgument& a : *arguments)
      t << static_cast<int64_t>(a.operand) << std::string(name_of(a.dtype)) << a.extents;
    t << std::string(")");
  }
}

void write(KeyText& t, const Statements& block) {
  for (const Statement& s : block) {
    t << static_cast<int64_t>(s.kind) << s.value << static_cast<int64_t>(s.local) << static_cast<int64_t>(s.operand)
      << s.index << static_cast<int64_t>(s.unless_same) << static_cast<int64_t>(s.reduce) << s.axis << s.begin << s.end;
    if (s.kind == Statement::Kind::call) write_call(t, s);
    if (s.kind == Statement::Kind::order) t << static_cast<int64_t>(s.workspace);
    for (const Statements* inner : {&s.body, &s.otherwise}) {
      t << std::string("(");
      write(t, *inner);
      t << std::string(")");
    }
  }
}

void write(KeyText& t, const ProgramKernel& k) {
  t << std::string("program") << k.outer << static_cast<int64_t>(k.replaced);
  for (DType d : k.locals) t << std::string(name_of(d));
  write(t, k.body);
}

}  // namespace

std::string key(const Kernel& kernel) {
  KeyText t;
  for (const Operand& o : kernel.operands)
    t << std::string(name_of(o.dtype)) << o.shape << (o.written ? 1 : 0) + (o.constant ? 2 : 0) + (o.array ? 8 : 0);
  std::visit([&](const auto& body) { write(t, body); }, kernel.body);
  return t.str();
}

}  // namespace gcg
