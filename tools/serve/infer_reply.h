// The reply to an inference request: JSON, then binary tensors.
#pragma once

#include "gart/tensor.h"
#include "tools/serve/infer_request.h"
#include "tools/serve/messages.h"

namespace gcg::serve {

/// Collects outputs one after the other, and makes the reply.
class InferReply {
 public:
  InferReply(const InferRequest& request, const std::string& model, const std::string& version);
  /// Copies or prints the elements. Throws Refusal for elements that JSON cannot hold.
  void add(const std::string& name, const gart::TensorView& tensor);
  /// The reply, with outputs in the order of the request.
  HttpReply take();

 private:
  struct Written {
    std::string json, binary;
  };
  bool is_binary(const std::string& name, size_t& place) const;

  const InferRequest& request_;
  std::string head_;
  std::vector<Written> outputs_;
  bool has_binary_ = false;
};

}  // namespace gcg::serve
