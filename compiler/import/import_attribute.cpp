// AttributeProto -> Attribute.
#include "compiler/import/graph_importer.h"
#include "compiler/import/tensor_import.h"

namespace gcg {
namespace {

using onnx::AttributeProto;

/// The declared type. If the file leaves it out, it follows from the field that is set.
AttributeProto::AttributeType type_of(const AttributeProto& a) {
  if (a.type() != AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return AttributeProto::FLOAT;
  if (a.has_i()) return AttributeProto::INT;
  if (a.has_s()) return AttributeProto::STRING;
  if (a.has_t()) return AttributeProto::TENSOR;
  if (a.has_g()) return AttributeProto::GRAPH;
  if (a.floats_size() > 0) return AttributeProto::FLOATS;
  if (a.ints_size() > 0) return AttributeProto::INTS;
  if (a.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

}  // namespace

ImportedAttribute GraphImporter::import_attribute(const AttributeProto& proto, const std::string& node) {
  ImportedAttribute result;
  const std::string what = concat("attribute '", proto.name(), "'");
  switch (type_of(proto)) {
    case AttributeProto::FLOAT:
      result.value = static_cast<double>(proto.f());
      break;
    case AttributeProto::INT:
      result.value = static_cast<int64_t>(proto.i());
      break;
    case AttributeProto::STRING:
      result.value = proto.s();
      break;
    case AttributeProto::FLOATS:
      result.value = std::vector<double>(proto.floats().begin(), proto.floats().end());
      break;
    case AttributeProto::INTS:
      result.value = std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
      break;
    case AttributeProto::STRINGS:
      result.value = std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      break;
    case AttributeProto::GRAPH:
      result.graph = &proto.g();
      break;
    case AttributeProto::TENSOR:
      if (const auto why = unsupported_dtype(proto.t().data_type()))
        result.why = concat(what, ": ", *why);
      else
        result.value = TensorRef(
            std::make_shared<Tensor>(import_tensor(proto.t(), concat(node, " ", proto.name()), owner_, external_)));
      break;
    case AttributeProto::SPARSE_TENSOR:
      if (const auto why = unsupported_dtype(proto.sparse_tensor().values().data_type()))
        result.why = concat(what, ": ", *why);
      else
        result.value = TensorRef(std::make_shared<Tensor>(
            import_sparse_tensor(proto.sparse_tensor(), concat(node, " ", proto.name()), owner_, external_)));
      break;
    case AttributeProto::TYPE_PROTO:  // what an Optional without an element would hold
      break;
    default:
      result.why = what + " has an unknown type";
      break;
  }
  return result;
}

}  // namespace gcg
