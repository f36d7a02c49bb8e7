// The parts of each kind of kernel, listed once. These lists give the text that distinguishes kernels, and a kernel's
// operands, expressions, symbols and imports. Therefore a new kind of contraction needs one list.
#pragma once

#include <concepts>
#include <type_traits>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// A kernel that sums products and applies an epilogue to each sum.
template <class Body>
concept Contraction = requires(const Body& k) {
  { k.epilogue } -> std::convertible_to<Expr>;
  { k.result } -> std::convertible_to<int>;
  { k.index } -> std::convertible_to<std::vector<Expr>>;
};

/// T is the kernel body Body, or const Body.
template <class T, class Body>
concept Is = std::same_as<std::remove_const_t<T>, Body>;

/// Ignores all parts. Visitors derive from it and hide the functions for the parts that they need.
struct PartVisitor {
  void name(const char*) {}    // of the kind
  void number(int64_t) {}      // sizes, flags
  void dim(const Dim&) {}      // extents and strides
  void axis(const Axis&) {}    // axes that the kernel runs through
  void operand(const int&) {}  // a position in Kernel::operands; -1: there is none
  void expr(const Expr&) {}    // null: there is none
  void begin(size_t) {}        // a list of this many parts follows
};

namespace parts {

template <class V, class Axes>
void axes(V& v, const Axes& all) {
  v.begin(all.size());
  for (const Axis& a : all) v.axis(a);
}
template <class V>
void dims(V& v, const std::vector<Dim>& all) {
  v.begin(all.size());
  for (const Dim& d : all) v.dim(d);
}
template <class V, class Exprs>
void exprs(V& v, Exprs& all) {
  v.begin(all.size());
  for (auto& e : all) v.expr(e);
}
template <class V, Is<MatrixView> View>
void view(V& v, View& m) {
  v.operand(m.operand);
  for (const Dim& d : {m.offset, m.row_stride, m.column_stride}) v.dim(d);
  dims(v, m.batch_strides);
}
/// The parts that all contractions have.
template <class V, class Body>
void result(V& v, Body& k) {
  v.expr(k.epilogue);
  v.operand(k.result);
  exprs(v, k.index);
}

}  // namespace parts

template <class V, Is<LoopKernel> Body>
void each_part(V& v, Body& k) {
  v.name("loop");
  parts::axes(v, k.outer);
  v.begin(k.stages.size());
  for (auto& s : k.stages) {
    for (const auto kind : {static_cast<int>(s.kind), static_cast<int>(s.reduce), s.local}) v.number(kind);
    parts::axes(v, s.axes);
    v.expr(s.value);
    v.operand(s.operand);
    parts::exprs(v, s.index);
  }
}

template <class V, Is<MatMulKernel> Body>
void each_part(V& v, Body& k) {
  v.name("matmul");
  parts::axes(v, k.batch);
  for (const Axis& a : {k.m, k.n, k.k}) v.axis(a);
  parts::view(v, k.a);
  parts::view(v, k.b);
  v.begin(k.blocks ? 1 : 0);
  if (k.blocks) {
    for (const int64_t n : {k.blocks->rows, int64_t{k.blocks->bits}, k.blocks->block, int64_t{k.blocks->exact}})
      v.number(n);
    v.operand(k.scales);
    v.operand(k.offsets);
  }
  for (const int64_t n : {k.packed_columns, int64_t{k.narrow}, int64_t{k.near}}) v.number(n);
  parts::result(v, k);
}

template <class V, Is<ConvKernel> Body>
void each_part(V& v, Body& k) {
  v.name("conv");
  for (const Dim& d : {k.batch, k.in_depth, k.in_height, k.in_width, k.out_depth, k.out_height, k.out_width}) v.dim(d);
  for (const int64_t n : {k.in_channels, k.out_channels, k.groups, k.kernel_d, k.kernel_h, k.kernel_w, k.stride_d,
                          k.stride_h, k.stride_w, k.dilation_d, k.dilation_h, k.dilation_w, k.pad_front, k.pad_top,
                          k.pad_left, int64_t{k.input_plain}, int64_t{k.bytes}, int64_t{k.narrow}, k.winograd})
    v.number(n);
  v.operand(k.input);
  v.operand(k.weights);
  parts::axes(v, k.axes());
  parts::result(v, k);
}

template <class V, Is<PlainConvKernel> Body>
void each_part(V& v, Body& k) {
  v.name("plain conv");
  v.dim(k.batch);
  for (const int64_t n : {k.in_channels, k.out_channels, k.groups, int64_t{k.input_channels_last}}) v.number(n);
  v.begin(k.spatial.size());
  for (const PlainConvKernel::Spatial& s : k.spatial) {
    for (const Dim& d : {s.input, s.output, s.pad}) v.dim(d);
    for (const int64_t n : {s.kernel, s.stride, s.dilation}) v.number(n);
  }
  v.operand(k.input);
  v.operand(k.weights);
  for (const Axis& a : {k.n, k.channel}) v.axis(a);
  parts::axes(v, k.position);
  parts::result(v, k);
}

template <class V, Is<AttentionKernel> Body>
void each_part(V& v, Body& k) {
  v.name("attention");
  parts::axes(v, k.batch);
  for (const Axis& a : {k.m, k.n, k.t, k.d}) v.axis(a);
  for (auto* view : {&k.q, &k.k, &k.v}) parts::view(v, *view);
  v.expr(k.scores);
  v.expr(k.row_mask);
  v.number(k.is_nan_zero);
  parts::result(v, k);
}

}  // namespace gcg
