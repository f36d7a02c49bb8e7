#include "tools/gcc-graph/bundle/statement.h"

#include <algorithm>
#include <set>

#include "tools/gcc-graph/bundle/json_fields.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

constexpr const char* kStatement = "https://in-toto.io/Statement/v1";
constexpr const char* kPredicate = "https://model_signing/signature/v1.0";
constexpr const char* kDigest = "sha256";

std::string digest_in(const JsonObject& object, const char* field) {
  constexpr size_t kDigits = 64;
  const std::string digest = object.text(field);
  if (digest.size() != kDigits || digest.find_first_not_of("0123456789abcdef") != std::string::npos)
    fail(object.where, ": ", field, " is not ", kDigits, " hexadecimal digits");
  return digest;
}

/// Paths that are not covered. "." would exclude the whole folder.
std::vector<std::string> ignored_in(const JsonObject& rules) {
  std::vector<std::string> out;
  if (!rules.has("ignore_paths")) return out;
  for (const OrderedJson& path : rules.list("ignore_paths")) {
    if (!path.is_string() || !is_inside(path.get<std::string>()))
      fail(rules.where, ": an element of ignore_paths is not the path of a file in the folder");
    out.push_back(path.get<std::string>());
  }
  return out;
}

std::vector<FileDigest> files_in(const JsonObject& predicate) {
  std::vector<FileDigest> out;
  std::set<std::string> names;
  const size_t count = predicate.list("resources").size();
  if (count == 0) fail(predicate.where, ": resources is empty, so no file is signed");
  for (size_t i = 0; i < count; ++i) {
    const JsonObject file = predicate.element("resources", i);
    file.require("algorithm", kDigest);
    const std::string name = file.text("name");
    if (!is_inside(name) && !(name == "." && count == 1))
      fail(file.where, ": the name is not the path of a file in the folder");
    if (!names.insert(name).second) fail(file.where, ": the name occurs twice");
    out.push_back({name, digest_in(file, "digest")});
  }
  return out;
}

}  // namespace

std::string statement_of(const SignedFiles& files) try {
  OrderedJson rules = {{"method", "files"}, {"hash_type", kDigest}, {"allow_symlinks", files.follows_links}};
  if (!files.ignored.empty()) rules["ignore_paths"] = files.ignored;
  OrderedJson resources = OrderedJson::array();
  for (const FileDigest& file : files.files)
    resources.push_back({{"name", file.name}, {"algorithm", kDigest}, {"digest", file.sha256}});
  const OrderedJson subject = {{"name", files.model}, {"digest", {{kDigest, digest_of_all(files.files)}}}};
  return OrderedJson{{"_type", kStatement},
                     {"subject", OrderedJson::array({subject})},
                     {"predicateType", kPredicate},
                     {"predicate", {{"serialization", rules}, {"resources", resources}}}}
      .dump(2);
} catch (const OrderedJson::type_error&) {
  fail("a name of a file in ", files.model, " is not UTF-8, which a bundle cannot hold");
}

SignedFiles read_statement(std::string_view text, const std::string& source) {
  const JsonObject statement = read_object(text, source);
  statement.require("_type", kStatement);
  statement.require("predicateType", kPredicate);
  if (const size_t count = statement.list("subject").size(); count != 1)
    fail(source, ": subject has ", count, " elements, expected 1");
  const JsonObject subject = statement.element("subject", 0);
  const JsonObject predicate = statement.object("predicate");
  const JsonObject rules = predicate.object("serialization");
  rules.require("method", "files");
  rules.require("hash_type", kDigest);
  SignedFiles out{subject.text("name"), rules.flag("allow_symlinks"), ignored_in(rules), files_in(predicate)};
  if (digest_in(subject.object("digest"), kDigest) != digest_of_all(out.files))
    fail(source, ": the digest of the subject is not the digest of all resources");
  return out;
}

}  // namespace gcg::tools
