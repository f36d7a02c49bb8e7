// The table of all live atoms. Interning turns equality of atoms into equality of pointers. It computes facts about an
// atom once. It also keeps expressions with shared parts, such as an extent after many layers, from being walked as
// trees.
#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "compiler/ir/dim.h"
#include "compiler/ir/dim_internal.h"
#include "compiler/support/error.h"

namespace gcg::dim_internal {
namespace {

constexpr int64_t kLargeSize = int64_t{1} << 40;  // the largest size that is recorded
constexpr int kDeepest = 1000;                    // nesting limit; functions on Dims recurse

struct InternedAtom final : Dim::Atom {
  InternedAtom(Dim::Atom parts, AtomFacts known) : Dim::Atom(std::move(parts)), facts(std::move(known)) {}
  AtomFacts facts;
};

void mix(uint64_t& hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccd;
  hash ^= hash >> 33;
}

uint64_t hash_of(const Dim::Atom& atom) {
  uint64_t hash = static_cast<uint64_t>(atom.kind);
  mix(hash, std::hash<std::string>()(atom.name));
  for (const Dim* side : {&atom.a, &atom.b}) {
    mix(hash, side->terms().size());
    for (const auto& [m, coefficient] : side->terms()) {
      mix(hash, static_cast<uint64_t>(coefficient));
      for (const Dim::AtomRef& factor : m) mix(hash, facts(*factor).hash);
    }
  }
  return hash;
}

bool equal(const Dim::Atom& a, const Dim::Atom& b) {
  return a.kind == b.kind && a.name == b.name && a.a.terms() == b.a.terms() && a.b.terms() == b.b.terms();
}

AtomFacts facts_about(const Dim::Atom& atom, uint64_t hash) {
  AtomFacts out;
  out.hash = hash;
  if (atom.kind == Dim::AtomKind::symbol) {
    out.interval = {0, std::nullopt};
    out.symbols = {atom.name};
    return out;
  }
  for (const Dim* side : {&atom.a, &atom.b})
    for (const auto& [m, coefficient] : side->terms()) {
      ++out.size;
      for (const Dim::AtomRef& factor : m) {
        const AtomFacts& inner = facts(*factor);
        out.size = std::min(kLargeSize, out.size + inner.size);
        out.depth = std::max(out.depth, inner.depth + 1);
        out.symbols.insert(inner.symbols.begin(), inner.symbols.end());
      }
    }
  if (out.depth > kDeepest)
    fail("dimension arithmetic: an extent of more than ", kDeepest, " nested quotients, maxima or minima");
  out.interval = interval_of(atom.kind, atom.a, atom.b);
  return out;
}

class Table {
 public:
  /// Null when there is none.
  Dim::AtomRef find(const Dim::Atom& parts, uint64_t hash) {
    const std::lock_guard lock(mutex_);
    return find_locked(parts, hash);
  }

  /// Adds `atom`, or returns the equal one that another thread has added first.
  Dim::AtomRef add(std::unique_ptr<const InternedAtom> atom) {
    const uint64_t hash = atom->facts.hash;
    const std::lock_guard lock(mutex_);
    if (Dim::AtomRef known = find_locked(*atom, hash)) return known;
    const InternedAtom* const object = atom.release();
    Dim::AtomRef out(object, [this](const InternedAtom* dying) { remove(dying); });
    atoms_.emplace(hash, Entry{object, out});
    return out;
  }

 private:
  struct Entry {
    const InternedAtom* object;  // deleted only after the entry is removed
    std::weak_ptr<const Dim::Atom> owner;
  };

  Dim::AtomRef find_locked(const Dim::Atom& parts, uint64_t hash) const {
    const auto [begin, end] = atoms_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (!equal(*it->second.object, parts)) continue;
      if (Dim::AtomRef atom = it->second.owner.lock()) return atom;
    }
    return nullptr;
  }

  void remove(const InternedAtom* dying) {
    {
      const std::lock_guard lock(mutex_);
      auto [it, end] = atoms_.equal_range(dying->facts.hash);
      while (it->second.object != dying) ++it;
      atoms_.erase(it);
    }
    delete dying;  // this may also delete atoms that only the dying atom used
  }

  std::mutex mutex_;
  std::unordered_multimap<uint64_t, Entry> atoms_;
};

Table& table() {
  static Table* const all = new Table;  // never destroyed, because Dims in static variables may live longer
  return *all;
}

}  // namespace

const AtomFacts& facts(const Dim::Atom& atom) { return static_cast<const InternedAtom&>(atom).facts; }

Dim::AtomRef intern(Dim::Atom parts) {
  const uint64_t hash = hash_of(parts);
  if (Dim::AtomRef known = table().find(parts, hash)) return known;
  AtomFacts known = facts_about(parts, hash);
  return table().add(std::make_unique<const InternedAtom>(std::move(parts), std::move(known)));
}

}  // namespace gcg::dim_internal
