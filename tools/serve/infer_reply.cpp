#include "tools/serve/infer_reply.h"

#include "tools/serve/datatypes.h"
#include "tools/serve/json_elements.h"

namespace gcg::serve {

HttpReply error_reply(unsigned status, const std::string& message) {
  HttpReply reply;
  reply.status = status;
  reply.body = "{\"error\":" + in_quotes(message) + "}";
  return reply;
}

InferReply::InferReply(const InferRequest& request, const std::string& model, const std::string& version)
    : request_(request), outputs_(request.outputs.size()) {
  head_ = "{\"model_name\":" + in_quotes(model) + ",\"model_version\":" + in_quotes(version);
  if (!request.id.empty()) head_ += ",\"id\":" + in_quotes(request.id);
  if (const std::string& key = request.sequence.key; !key.empty()) {
    const std::string id = key[0] == '#' ? key.substr(1) : in_quotes(key.substr(1));
    head_ += ",\"parameters\":{\"sequence_id\":" + id +
             ",\"sequence_start\":" + (request.sequence.starts ? "true" : "false") +
             ",\"sequence_end\":" + (request.sequence.ends ? "true" : "false") + "}";
  }
}

bool InferReply::is_binary(const std::string& name, size_t& place) const {
  for (place = 0; place < request_.outputs.size(); ++place)
    if (request_.outputs[place].name == name) return request_.outputs[place].is_binary;
  return request_.is_binary;
}

void InferReply::add(const std::string& name, const gart::TensorView& tensor) {
  size_t place = 0;
  const bool binary = is_binary(name, place);
  if (place == request_.outputs.size()) place = outputs_.size();  // an output that the request does not name comes last
  if (place == outputs_.size()) outputs_.emplace_back();
  Written& out = outputs_[place];
  out.json =
      "{\"name\":" + in_quotes(name) + ",\"datatype\":\"" + std::string(datatype_name(tensor.dtype)) + "\",\"shape\":[";
  for (size_t i = 0; i < tensor.shape.rank(); ++i) out.json += (i ? "," : "") + std::to_string(tensor.shape[i]);
  if (binary) {
    const size_t bytes = static_cast<size_t>(tensor.shape.elements()) * gart::size_of(tensor.dtype);
    if (bytes > 0) out.binary.assign(static_cast<const char*>(tensor.data), bytes);
    out.json += "],\"parameters\":{\"binary_data_size\":" + std::to_string(bytes) + "}}";
    has_binary_ = true;
  } else {
    out.json += "],\"data\":";
    append_elements(out.json, tensor, name);
    out.json += '}';
  }
}

HttpReply InferReply::take() {
  HttpReply reply;
  size_t bytes = head_.size() + 64;
  for (const Written& out : outputs_) bytes += out.json.size() + out.binary.size() + 1;
  reply.body.reserve(bytes);
  reply.body = head_ + ",\"outputs\":[";
  for (size_t i = 0; i < outputs_.size(); ++i) reply.body += (i ? "," : "") + outputs_[i].json;
  reply.body += "]}";
  if (!has_binary_) return reply;
  reply.type = "application/octet-stream";
  reply.json_length = reply.body.size();
  for (const Written& out : outputs_) reply.body += out.binary;
  return reply;
}

}  // namespace gcg::serve
