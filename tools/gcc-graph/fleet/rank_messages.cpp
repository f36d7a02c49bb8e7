#include "tools/gcc-graph/fleet/rank_messages.h"

namespace gcg::tools {
namespace {

void check(const gart::Result<void>& done) {
  if (!done.ok()) throw LostRank(done.error().message);
}

size_t bytes_of(const gart::TensorView& tensor) {
  return static_cast<size_t>(tensor.shape.elements()) * gart::size_of(tensor.dtype);
}

}  // namespace

void RankMessages::send(std::span<const uint8_t> bytes) const { check(hosts_.send(rank_, bytes)); }
void RankMessages::receive(std::span<uint8_t> room) const { check(hosts_.receive(rank_, room)); }

void RankMessages::send(const nlohmann::json& json) const {
  const std::vector<uint8_t> text = nlohmann::json::to_cbor(json);
  const uint64_t size = text.size();
  send({reinterpret_cast<const uint8_t*>(&size), sizeof size});
  send(std::span<const uint8_t>(text));
}

nlohmann::json RankMessages::receive() const {
  uint64_t size = 0;
  receive({reinterpret_cast<uint8_t*>(&size), sizeof size});
  std::vector<uint8_t> text(size);
  receive(std::span<uint8_t>(text));
  return nlohmann::json::from_cbor(text);
}

void RankMessages::send(const gart::TensorView& tensor) const {
  send({static_cast<const uint8_t*>(tensor.data), bytes_of(tensor)});
}

void RankMessages::receive(const nlohmann::json& description, HostTensor& tensor) const {
  tensor.dtype = static_cast<gart::DType>(description.at("dtype").get<int>());
  tensor.shape = description.at("shape").get<std::vector<int64_t>>();
  tensor.bytes.resize(bytes_of(tensor.view()));
  receive(std::span<uint8_t>(tensor.bytes));
}

nlohmann::json described(const std::string& name, const gart::TensorView& tensor) {
  if (tensor.dtype == gart::DType::string) fail("'", name, "' holds strings, which ranks of a job cannot exchange");
  const auto extents = tensor.shape.extents();
  return {{"name", name},
          {"dtype", static_cast<int>(tensor.dtype)},
          {"shape", std::vector<int64_t>(extents.begin(), extents.end())}};
}

nlohmann::json answer_of(const std::function<nlohmann::json()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

nlohmann::json checked_answer(nlohmann::json answer, int rank) {
  if (answer.is_object() && answer.contains("error")) fail("rank ", rank, ": ", answer.at("error").get<std::string>());
  return answer;
}

}  // namespace gcg::tools
