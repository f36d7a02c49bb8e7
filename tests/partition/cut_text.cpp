#include "tests/partition/cut_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "compiler/gir/gir.h"
#include "compiler/support/error.h"

namespace gcg::test {
namespace {

std::vector<std::string> words_of(const std::string& text, char separator = ' ') {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) {
    const size_t begin = word.find_first_not_of(' '), end = word.find_last_not_of(' ');
    if (begin != std::string::npos) words.push_back(word.substr(begin, end - begin + 1));
  }
  return words;
}

struct TestNode {
  std::string op = "Max";
  std::vector<std::string> reads;  // values
  bool splits = false;
};

void write_node(const std::map<std::string, TestNode>& nodes, const std::string& name, std::set<std::string>& written,
                std::string& text) {
  if (!written.insert(name).second) return;
  const TestNode& node = nodes.at(name);
  std::string inputs;
  for (const std::string& value : node.reads) {
    write_node(nodes, value.substr(0, value.find('/')), written, text);
    inputs += concat(inputs.empty() ? "%\"" : ", %\"", value, "\"");
  }
  if (inputs.empty()) inputs = "%input";
  text += node.splits
              ? concat("  %\"", name, "/1\", %\"", name, "/2\" = Split(", inputs, ") {num_outputs = 2} @\"", name)
              : concat("  %\"", name, "\" = ", node.op, "(", inputs, ") @\"", name);
  text += "\"\n";
}

/// The lines up to the brace that closes the graph.
Graph read_gir(std::istream& in, int& number) {
  std::string text;
  for (std::string line; text.find("\n}") == std::string::npos && std::getline(in, line); ++number) text += line + "\n";
  return parse_graph(text);
}

void read_line(CutCase& c, const std::string& key, const std::string& rest) {
  if (key == "FLEET") c.fleet = parse_test_fleet(rest);
  if (key == "GRAPH") c.graph = parse_test_graph(rest);
  if (key == "CUT") c.options.rules = parse_cut_rules(rest);
  if (key == "EXPECT") c.expected = rest;
  const std::vector<std::string> words = words_of(rest);
  if (key == "ORDER")
    c.options.in_order.emplace_back(node_named(c.graph, words.at(0)), node_named(c.graph, words.at(1)));
  for (const std::string& word : words) {
    if (key == "LABEL") c.options.labels.push_back(parse_node_request("--label", word));
    if (key == "ASSIGN") c.options.assignments.push_back(parse_node_request("--assign", word));
  }
}

}  // namespace

Fleet parse_test_fleet(const std::string& text) {
  Fleet fleet;
  for (const std::string& device : words_of(text, ';')) {
    FleetDevice d;
    for (const std::string& word : words_of(device)) {
      if (word[0] == '-')
        d.denies.push_back(word.substr(1));
      else if (word[0] == '+')
        d.supports.push_back(word.substr(1));
      else
        d.name = word;
    }
    d.kind = d.name.rfind("cuda", 0) == 0 ? DeviceClass::cuda : DeviceClass::cpu;
    fleet.devices.push_back(std::move(d));
  }
  return fleet;
}

Graph parse_test_graph(const std::string& text) {
  std::map<std::string, TestNode> nodes;
  std::vector<std::string> names;
  const auto node = [&](const std::string& word) {
    const std::string name = word.substr(0, word.find_first_of(":/"));
    if (nodes.try_emplace(name).second) names.push_back(name);
    if (const size_t colon = word.find(':'); colon != std::string::npos) nodes[name].op = word.substr(colon + 1);
    return name;
  };
  std::set<std::string> read;
  for (const std::string& way : words_of(text, ',')) {
    std::string previous;
    for (const std::string& word : words_of(way)) {
      if (word == "->") continue;
      const std::string name = node(word);
      if (!previous.empty()) {
        const std::string value = previous.substr(0, previous.find(':'));
        nodes[name].reads.push_back(value);
        if (value.find('/') != std::string::npos) nodes[value.substr(0, value.find('/'))].splits = true;
        read.insert(value.substr(0, value.find('/')));
      }
      previous = word;
    }
  }
  std::string body, outputs;
  std::set<std::string> written;
  for (const std::string& name : names) {
    write_node(nodes, name, written, body);
    if (read.count(name) == 0) outputs += concat(outputs.empty() ? "%\"" : ", %\"", name, "\"");
  }
  return parse_graph(concat("graph test(%input: f32[2]) -> (", outputs, ") {\n", body, "}\n"));
}

std::string groups_text(const Graph& graph, const Cut& cut) {
  std::string text;
  for (const Group& g : cut.groups) {
    std::vector<std::string> names;
    for (NodeId id : g.nodes) names.push_back(graph.node(id).name);
    std::sort(names.begin(), names.end());
    text += text.empty() ? "{" : " {";
    for (const std::string& name : names) text += concat(&name == &names.front() ? "" : ",", name);
    text += "}";
  }
  return text;
}

NodeId node_named(const Graph& graph, const std::string& name) {
  for (NodeId id : graph.order())
    if (graph.node(id).name == name) return id;
  throw std::runtime_error("no node " + name);
}

std::vector<CutCase> read_cut_cases(const std::string& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".cut") files.insert(entry.path());
  std::vector<CutCase> cases;
  for (const auto& path : files) {
    std::ifstream in(path);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (line.empty() || line[0] == '#') continue;
      const std::string key = line.substr(0, line.find(' ')), rest = line.substr(std::min(line.size(), key.size() + 1));
      if (key == "CASE") {
        cases.emplace_back();
        cases.back().file = path.stem().string();
        cases.back().name = rest;
        cases.back().line = number;
        cases.back().fleet = parse_test_fleet("acc -Min; cpu");
      } else if (key == "GIR") {
        cases.back().graph = read_gir(in, number);
      } else {
        read_line(cases.back(), key, rest);
      }
    }
  }
  return cases;
}

}  // namespace gcg::test
