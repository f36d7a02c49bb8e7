// Test cases of convolutions, pools and resizing.
#include "tests/train/gradient_rows.h"

namespace gcg::test {

namespace {

const std::vector<GradientCase> kRows = {
    {.what = "Conv of one axis",
     .graph =
         R"(graph g(%x: f64[a,2,5], %w: f64[3,2,3], %b: f64[3]) -> (%y) { %y = Conv(%x, %w, %b) {pads = [1,1]} })"},
    {.what = "Conv with strides",
     .graph =
         R"(graph g(%x: f64[a,2,7,6], %w: f64[3,2,3,2], %b: f64[3]) -> (%y) { %y = Conv(%x, %w, %b) {strides = [2,3], pads = [1,0,0,1]} })"},
    {.what = "Conv with open extents",
     .graph =
         R"(graph g(%x: f64[a,2,h,w], %w: f64[3,2,3,3], %b: f64[3]) -> (%y) { %y = Conv(%x, %w, %b) {strides = [2,1], pads = [1,1,1,1]} })",
     .least = {{"h", 4}, {"w", 4}}},
    {.what = "Conv with dilations",
     .graph =
         R"(graph g(%x: f64[a,2,8,7], %w: f64[3,2,2,3]) -> (%y) { %y = Conv(%x, %w) {dilations = [3,2], pads = [1,2,1,2]} })"},
    {.what = "Conv with groups",
     .graph =
         R"(graph g(%x: f64[a,4,5,5], %w: f64[6,2,3,3], %b: f64[6]) -> (%y) { %y = Conv(%x, %w, %b) {group = 2, strides = [2,2], pads = [1,1,1,1]} })"},
    {.what = "Conv per channel",
     .graph =
         R"(graph g(%x: f64[a,3,5,5], %w: f64[3,1,3,3]) -> (%y) { %y = Conv(%x, %w) {group = 3, pads = [1,1,1,1]} })"},
    {.what = "Conv with padding SAME",
     .graph =
         R"(graph g(%x: f64[a,2,6,5], %w: f64[3,2,3,3]) -> (%y) { %y = Conv(%x, %w) {auto_pad = "SAME_UPPER", strides = [2,2]} })"},
    {.what = "Conv of one point",
     .graph = R"(graph g(%x: f64[a,3,4,4], %w: f64[5,3,1,1]) -> (%y) { %y = Conv(%x, %w) {strides = [2,2]} })"},
    {.what = "ConvTranspose with strides",
     .graph =
         R"(graph g(%x: f64[a,3,3,4], %w: f64[3,2,3,2], %b: f64[2]) -> (%y) { %y = ConvTranspose(%x, %w, %b) {strides = [2,3], pads = [1,0,1,0], output_padding = [1,1]} })"},
    {.what = "ConvTranspose with groups and dilations",
     .graph =
         R"(graph g(%x: f64[a,4,3,3], %w: f64[4,3,2,2], %b: f64[6]) -> (%y) { %y = ConvTranspose(%x, %w, %b) {group = 2, dilations = [2,1]} })"},
    {.what = "ConvTranspose with open extents",
     .graph =
         R"(graph g(%x: f64[a,2,h,3], %w: f64[2,3,3,3]) -> (%y) { %y = ConvTranspose(%x, %w) {strides = [2,2], pads = [1,1,1,1]} })",
     .least = {{"h", 2}}},
    {.what = "MaxPool ",
     .graph = R"(graph g(%x: f64[a,2,4,6]) -> (%y) { %y = MaxPool(%x) {kernel_shape = [2,2], strides = [2,2]} })",
     .distinct = true},
    {.what = "MaxPool of windows that overlap",
     .graph =
         R"(graph g(%x: f64[a,2,5,6]) -> (%y) { %y = MaxPool(%x) {kernel_shape = [3,2], strides = [2,1], pads = [1,0,1,1], ceil_mode = 1} })",
     .distinct = true},
    {.what = "MaxPool with open extents",
     .graph = R"(graph g(%x: f64[a,2,h,w]) -> (%y) { %y = MaxPool(%x) {kernel_shape = [2,2], strides = [2,2]} })",
     .least = {{"h", 3}, {"w", 3}},
     .distinct = true},
    {.what = "AveragePool ",
     .graph = R"(graph g(%x: f64[a,2,4,6]) -> (%y) { %y = AveragePool(%x) {kernel_shape = [2,2], strides = [2,2]} })",
     .distinct = true},
    {.what = "AveragePool with padding",
     .graph =
         R"(graph g(%x: f64[a,2,5,6]) -> (%y) { %y = AveragePool(%x) {kernel_shape = [3,2], strides = [2,1], pads = [1,0,1,1]} })",
     .distinct = true},
    {.what = "AveragePool that counts padding",
     .graph =
         R"(graph g(%x: f64[a,2,5,6]) -> (%y) { %y = AveragePool(%x) {kernel_shape = [3,2], strides = [2,1], pads = [1,0,1,1], count_include_pad = 1} })",
     .distinct = true},
    {.what = "AveragePool rounded up",
     .graph =
         R"(graph g(%x: f64[a,2,6]) -> (%y) { %y = AveragePool(%x) {kernel_shape = [3], strides = [2], ceil_mode = 1} })",
     .distinct = true},
    {.what = "AveragePool rounded up that counts padding",
     .graph =
         R"(graph g(%x: f64[a,2,6]) -> (%y) { %y = AveragePool(%x) {kernel_shape = [3], strides = [2], pads = [1,1], ceil_mode = 1, count_include_pad = 1} })",
     .distinct = true},
    {.what = "AveragePool with open extents",
     .graph =
         R"(graph g(%x: f64[a,2,h,w]) -> (%y) { %y = AveragePool(%x) {kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]} })",
     .least = {{"h", 3}, {"w", 3}},
     .distinct = true},
    {.what = "LpPool ",
     .graph =
         R"(graph g(%x: f64[a,2,5]) -> (%y) { %y = LpPool(%x) {kernel_shape = [3], strides = [2], pads = [1,1]} })",
     .distinct = true},
    {.what = "LpPool of p = 3",
     .graph = R"(graph g(%x: f64[a,2,5]) -> (%y) { %y = LpPool(%x) {kernel_shape = [2], p = 3} })",
     .distinct = true},
    {.what = "GlobalAveragePool ",
     .graph = R"(graph g(%x: f64[a,2,3,b]) -> (%y) { %y = GlobalAveragePool(%x) })",
     .distinct = true},
    {.what = "GlobalMaxPool ",
     .graph = R"(graph g(%x: f64[a,2,3,b]) -> (%y) { %y = GlobalMaxPool(%x) })",
     .distinct = true},
    {.what = "GlobalLpPool ",
     .graph = R"(graph g(%x: f64[a,2,3,b]) -> (%y) { %y = GlobalLpPool(%x) })",
     .distinct = true},
    {.what = "MaxUnpool", .graph = R"(graph g(%x: f64[1,2,2,2]) -> (%y) {
  constant %i: i64[1,2,2,2] = {5, 7, 13, 15, 16, 18, 24, 31}
  %y = MaxUnpool(%x, %i) {kernel_shape = [2,2], strides = [2,2]}
})"},
    {.what = "Resize linear by scales", .graph = R"(graph g(%x: f64[a,2,4,5]) -> (%y) {
  constant %s: f32[4] = {1, 1, 2, 1.6}
  %y = Resize(%x, _, %s) {mode = "linear"}
})"},
    {.what = "Resize nearest by scales", .graph = R"(graph g(%x: f64[a,2,4,5]) -> (%y) {
  constant %s: f32[4] = {1, 1, 2, 1.6}
  %y = Resize(%x, _, %s) {mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric"}
})"},
    {.what = "Resize cubic by scales", .graph = R"(graph g(%x: f64[a,2,4,5]) -> (%y) {
  constant %s: f32[4] = {1, 1, 2, 1.6}
  %y = Resize(%x, _, %s) {mode = "cubic"}
})"},
    {.what = "Resize linear to sizes", .graph = R"(graph g(%x: f64[a,2,4,5]) -> (%y) {
  constant %s: i64[2] = {7, 3}
  %y = Resize(%x, _, _, %s) {mode = "linear", coordinate_transformation_mode = "align_corners", axes = [2,3]}
})"},
};

}  // namespace

std::vector<GradientCase> window_rows() { return kRows; }

}  // namespace gcg::test
