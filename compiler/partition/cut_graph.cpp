#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "compiler/ops/op_def.h"
#include "compiler/partition/by_chains.h"
#include "compiler/partition/by_crossings.h"
#include "compiler/partition/by_shared_values.h"
#include "compiler/partition/by_support.h"
#include "compiler/partition/cut.h"
#include "compiler/partition/node_work.h"
#include "compiler/partition/runs_on.h"
#include "compiler/partition/stages.h"
#include "compiler/partition/work_nodes.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

/// Number of pieces for each device that can run them: large enough to balance the load, and small enough to keep the
/// overhead of pieces low.
constexpr double kPiecesPerDevice = 4;
/// Least operations of a piece. In smaller pieces, the handover (some tens of microseconds) would no longer be
/// negligible.
constexpr double kLeastPiece = 1e6;

class CutMaker {
 public:
  CutMaker(const Graph& graph, const Fleet& fleet, const CutOptions& options, const NodeRequests& requests)
      : graph_(graph),
        fleet_(fleet),
        options_(options),
        requests_(requests),
        work_(work_nodes(graph, options.in_order)) {}

  Cut run() {
    for (NodeId id : work_.nodes) support_.push_back(support(graph_.node(id)));
    gather_labels();
    gather_nodes();
    classify();
    const std::vector<CutRule> rules = options_.rules.empty() ? default_rules(fleet_) : options_.rules;
    const bool fewest = std::find(rules.begin(), rules.end(), CutRule::fewest) != rules.end();
    Groups groups = by_support(dag_, classes_, fewest);
    for (CutRule rule : rules) {
      if (rule == CutRule::chains) groups = by_chains(dag_, groups);
      if (rule == CutRule::stages) groups = stages_of(groups);
      if (rule == CutRule::shared) groups = by_shared_values(dag_, groups, classes_, shared_values());
    }
    if (!options_.placed.empty()) groups = joined(groups);
    Cut cut = named(groups);
    cut.rules = print_cut_rules(rules);
    return cut;
  }

 private:
  /// The devices that run the node and that the user allows.
  std::vector<int> support(const Node& node) {
    std::string key = operator_name(*node.op);
    const OpDef* imported_as = requests_.imported_as(node);
    if (imported_as != nullptr) key += " " + operator_name(*imported_as);
    for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs})
      for (ValueId v : *values)
        if (v.valid()) key.append(" ").append(name_of(graph_.value(v).dtype));
    auto known = node.bodies.empty() ? known_support_.find(key) : known_support_.end();
    if (known == known_support_.end())
      known = known_support_.insert_or_assign(key, support_of(fleet_, graph_, node, imported_as)).first;
    std::string request;
    const std::vector<int>& requested = requests_.devices(node, &request);
    if (requested.empty()) return preferred(known->second);
    std::vector<int> both;
    std::set_intersection(known->second.begin(), known->second.end(), requested.begin(), requested.end(),
                          std::back_inserter(both));
    if (both.empty())
      fail("--assign '", request, "': node '", node.name, "' (", operator_name(*node.op), ") does not run there");
    return both;
  }

  /// The devices of the kind `others` if there are any; otherwise all of `devices`.
  std::vector<int> preferred(std::vector<int> devices) const {
    std::vector<int> of_kind = devices;
    if (options_.others) std::erase_if(of_kind, [&](int d) { return fleet_.devices[at(d)].kind != *options_.others; });
    return of_kind.empty() ? devices : of_kind;
  }

  /// Makes atoms, which are sets of nodes that stay together: all nodes with one label form an atom.
  void gather_labels() {
    std::map<std::string, std::vector<int>> labelled;
    Groups atoms;
    for (int v = 0; v < work_.dag.size(); ++v) {
      const std::string& label = requests_.label(graph_.node(work_.nodes[at(v)]));
      if (label.empty())
        atoms.push_back({v});
      else
        labelled[label].push_back(v);
    }
    for (auto& [label, nodes] : labelled) atoms.push_back(std::move(nodes));
    if (labelled.empty()) {
      atoms_ = std::move(atoms);
      dag_ = work_.dag;
      return;
    }
    if (const std::vector<int> circle = find_circle(work_.dag, atoms); !circle.empty()) {
      std::string names;
      for (int g : circle) names += concat(say(atoms[at(g)]), " -> ");
      fail("--label makes a cycle of groups: ", names, say(atoms[at(circle.front())]));
    }
    atoms_ = ordered(work_.dag, atoms);
    dag_ = contracted(work_.dag, atoms_);
  }

  /// All nodes derived from one model node also form an atom, if one device runs them all and the atom makes no cycle.
  void gather_nodes() {
    std::map<std::string, std::vector<int>> by_name;  // numbers of atoms
    Groups gathered;
    for (int a = 0; a < dag_.size(); ++a) {
      const Node& node = graph_.node(work_.nodes[at(atoms_[at(a)].front())]);
      if (label_of(atoms_[at(a)].front()).empty() && requests_.is_one(node))
        by_name[node.name].push_back(a);
      else
        gathered.push_back({a});
    }
    const auto nodes_of = [&](const std::vector<int>& atoms) {
      std::vector<int> nodes;
      for (int a : atoms) nodes.insert(nodes.end(), atoms_[at(a)].begin(), atoms_[at(a)].end());
      std::sort(nodes.begin(), nodes.end());
      return nodes;
    };
    for (auto& [name, atoms] : by_name) {
      if (!common_support(nodes_of(atoms)).empty())
        gathered.push_back(std::move(atoms));
      else
        for (int a : atoms) gathered.push_back({a});
    }
    if (gathered.size() == at(dag_.size())) return;
    Groups joined;
    for (const std::vector<int>& atoms : ordered(dag_, gathered)) joined.push_back(nodes_of(atoms));
    atoms_ = std::move(joined);
    dag_ = contracted(work_.dag, atoms_);
  }

  const std::string& label_of(int node) const { return requests_.label(graph_.node(work_.nodes[at(node)])); }

  std::string say(const std::vector<int>& atom) const {
    const std::string& label = label_of(atom.front());
    return label.empty() ? concat("node '", graph_.node(work_.nodes[at(atom.front())]).name, "'")
                         : concat("'", label, "'");
  }

  /// Gives each set of devices a class, and each label a class of its own.
  void classify() {
    std::map<std::pair<std::string, std::vector<int>>, int> known;
    for (const std::vector<int>& atom : atoms_) {
      const std::vector<int> devices = common_support(atom);
      if (devices.empty()) fail("--label: no device of the fleet runs all nodes of ", say(atom));
      const int next = static_cast<int>(known.size());
      const int kind = known.try_emplace({label_of(atom.front()), devices}, next).first->second;
      if (kind == next) devices_of_class_.push_back(devices.size());
      classes_.push_back(kind);
    }
  }

  std::vector<int> common_support(const std::vector<int>& nodes) const {
    std::vector<int> common = support_[at(nodes.front())];
    for (int v : nodes) {
      if (support_[at(v)] == common) continue;
      std::vector<int> both;
      std::set_intersection(common.begin(), common.end(), support_[at(v)].begin(), support_[at(v)].end(),
                            std::back_inserter(both));
      common = std::move(both);
    }
    return common;
  }

  std::vector<NodeLoad> loads() const {
    std::vector<NodeLoad> all;
    for (const std::vector<int>& atom : atoms_) {
      NodeLoad load;
      for (int v : atom) {
        const Node& node = graph_.node(work_.nodes[at(v)]);
        load.work += work_of(graph_, node);
        for (ValueId out : node.outputs)
          if (out.valid()) load.bytes += bytes_of(graph_.value(out));
      }
      all.push_back(load);
    }
    return all;
  }

  /// Divides groups into stages. Each piece gets the same share of its class's work.
  Groups stages_of(const Groups& groups) const {
    const std::vector<NodeLoad> loads = this->loads();
    std::vector<double> piece(devices_of_class_.size(), 0);
    for (size_t a = 0; a < loads.size(); ++a) piece[at(classes_[a])] += loads[a].work;
    for (size_t c = 0; c < piece.size(); ++c)
      piece[c] = devices_of_class_[c] == 1
                     ? std::numeric_limits<double>::infinity()
                     : std::max(piece[c] / (kPiecesPerDevice * static_cast<double>(devices_of_class_[c])), kLeastPiece);
    return stages(dag_, groups, classes_, loads, piece);
  }

  std::vector<SharedValue> shared_values() const {
    const std::vector<int> atom = group_of(work_.dag, atoms_);
    std::map<ValueId, SharedValue> readers;
    for (int v = 0; v < work_.dag.size(); ++v)
      for (ValueId in : graph_.node(work_.nodes[at(v)]).inputs) {
        if (!in.valid()) continue;
        const int producer = work_.number_of(graph_.value(in).producer);
        if (producer < 0) continue;
        SharedValue& all = readers[in];
        if (all.empty()) all.push_back(atom[at(producer)]);
        if (std::find(all.begin(), all.end(), atom[at(v)]) == all.end()) all.push_back(atom[at(v)]);
      }
    std::vector<SharedValue> shared;
    for (auto& [value, all] : readers)
      if (all.size() > 2) shared.push_back(std::move(all));
    return shared;
  }

  /// The groups joined on their devices (CutOptions::placed).
  Groups joined(const Groups& groups) const {
    GCG_CHECK(groups.size() == options_.placed.size(), "devices of other groups");
    const Dag between = contracted(dag_, groups);
    const std::vector<NodeLoad> loads = this->loads();
    const auto devices = static_cast<int>(fleet_.devices.size());
    std::vector<int> kinds;  // groups of different kinds stay apart
    for (size_t g = 0; g < groups.size(); ++g) {
      double work = 0;
      for (int a : groups[g]) work += loads[at(a)].work;
      const bool may_move = work >= kLeastPiece && devices_of_class_[at(classes_[at(groups[g].front())])] > 1;
      const bool stays = may_move || !label_of(atoms_[at(groups[g].front())].front()).empty();
      kinds.push_back(stays ? devices + static_cast<int>(g) : options_.placed[g]);
    }
    Groups all;
    for (const std::vector<int>& members : by_support(between, numbered(kinds))) {
      std::vector<int>& atoms = all.emplace_back();
      for (int g : members) atoms.insert(atoms.end(), groups[at(g)].begin(), groups[at(g)].end());
      std::sort(atoms.begin(), atoms.end());
    }
    return options_.divide_joined ? by_crossings(dag_, all) : all;
  }

  /// The same partition into classes, with classes numbered from 0.
  static std::vector<int> numbered(const std::vector<int>& kinds) {
    std::map<int, int> numbers;
    std::vector<int> classes;
    for (int kind : kinds) classes.push_back(numbers.try_emplace(kind, static_cast<int>(numbers.size())).first->second);
    return classes;
  }

  Cut named(const Groups& groups) {
    Cut cut;
    std::map<NodeId, size_t> where;
    for (const std::vector<int>& group : groups) {
      std::vector<int> nodes;
      for (int a : group) nodes.insert(nodes.end(), atoms_[at(a)].begin(), atoms_[at(a)].end());
      std::sort(nodes.begin(), nodes.end());
      Group g;
      for (int v : nodes) g.nodes.push_back(work_.nodes[at(v)]);
      g.support = common_support(nodes);
      g.name = label_of(nodes.front());
      if (g.name.empty()) {
        g.name = concat("g", cut.groups.size(), ": ", graph_.node(g.nodes.front()).name);
        if (nodes.size() > 1) g.name += concat("..", graph_.node(g.nodes.back()).name);
      }
      for (NodeId id : g.nodes) where[id] = cut.groups.size();
      cut.groups.push_back(std::move(g));
    }
    add_shape_arithmetic(cut, where);
    return cut;
  }

  /// Adds shape arithmetic to the group of its first reader. It runs there only if something needs it.
  void add_shape_arithmetic(Cut& cut, std::map<NodeId, size_t>& where) const {
    if (work_.others.empty()) return;
    if (cut.groups.empty()) cut.groups.push_back({"shapes", {}, {0}});
    const std::vector<std::vector<NodeId>> users = graph_.users();
    std::set<size_t> changed;
    for (size_t i = work_.others.size(); i-- > 0;) {
      size_t group = cut.groups.size() - 1;
      for (ValueId v : graph_.node(work_.others[i]).outputs) {
        if (!v.valid()) continue;
        for (NodeId reader : users[at(v.index)]) group = std::min(group, where.at(reader));
      }
      where[work_.others[i]] = group;
      cut.groups[group].nodes.push_back(work_.others[i]);
      changed.insert(group);
    }
    std::map<NodeId, size_t> place;
    for (NodeId id : graph_.order()) place.emplace(id, place.size());
    for (size_t g : changed)
      std::sort(cut.groups[g].nodes.begin(), cut.groups[g].nodes.end(),
                [&](NodeId a, NodeId b) { return place.at(a) < place.at(b); });
  }

  const Graph& graph_;
  const Fleet& fleet_;
  const CutOptions& options_;
  const NodeRequests& requests_;
  const WorkNodes work_;
  std::map<std::string, std::vector<int>> known_support_;
  std::vector<std::vector<int>> support_;  // by number
  Groups atoms_;
  Dag dag_;                   // of atoms
  std::vector<int> classes_;  // of atoms
  std::vector<size_t> devices_of_class_;
};

}  // namespace

std::vector<CutRule> default_rules(const Fleet& fleet) {
  int of_kind[2] = {0, 0};
  for (const FleetDevice& d : fleet.devices) of_kind[static_cast<size_t>(d.kind)] += d.infers;
  if (of_kind[0] < 2 && of_kind[1] < 2) return {CutRule::support};
  return {CutRule::support, CutRule::chains, CutRule::stages};
}

Cut cut_graph(const Graph& graph, const Fleet& fleet, const CutOptions& options, const NodeRequests& requests) {
  return CutMaker(graph, fleet, options, requests).run();
}

std::string print_cut(const Graph& graph, const Fleet& fleet, const Cut& cut) {
  std::string text;
  for (const Group& g : cut.groups) {
    text += g.name + " on";
    for (int d : g.support) text += concat(d == g.support.front() ? " " : ",", fleet.devices[at(d)].name);
    for (NodeId id : g.nodes) text += concat(id == g.nodes.front() ? ": " : ", ", graph.node(id).name);
    text += "\n";
  }
  return text;
}

}  // namespace gcg
