#include "tests/cuda/libraries/attention_model.h"

namespace gart::test {

std::string self_attention(int heads, int head, const std::string& change, const std::string& inputs) {
  const std::string width = std::to_string(heads * head), matrix = ": f32[" + width + "," + width + "] = random(";
  std::string text = "graph g(%x: f32[b,s," + width + "]" + inputs + ") -> (%y) {\n";
  for (const char* c : {"q", "k", "v", "o"})
    text += std::string("constant %w") + c + matrix + std::to_string(c[0]) + ")\n";
  text += "constant %heads: i64[4] = {0,0," + std::to_string(heads) + "," + std::to_string(head) + "}\n";
  text += "constant %width: i64[3] = {0,0," + width + "}\n";
  text += "constant %scale: f32[] = {0.06}\nconstant %small: f32[] = {0.2}\n%xs = Mul(%x, %small)\n";
  for (const std::string n : {"q", "k", "v"}) {
    text += "%" + n + " = MatMul(%xs, %w" + n + ")\n%" + n + "h = Reshape(%" + n + ", %heads)\n";
    text += "%" + n + "t = Transpose(%" + n + "h) {perm = " + (n == "k" ? "[0,2,3,1]" : "[0,2,1,3]") + "}\n";
  }
  return text + "%s = MatMul(%qt, %kt)\n%m = Mul(%s, %scale)\n" + change + R"(
    %p = Softmax(%t) {axis = -1}
    %o = MatMul(%p, %vt)
    %ot = Transpose(%o) {perm = [0,2,1,3]}
    %r = Reshape(%ot, %width)
    %y = MatMul(%r, %wo)
  })";
}

}  // namespace gart::test
