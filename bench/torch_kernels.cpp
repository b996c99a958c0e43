#include "bench/torch_kernels.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace acid::bench {
namespace {

constexpr double kMixing = 1e-4, kRate = 1e-4, kMomentum = 0.9, kDecay = 5e-4;

at::Tensor tensor(float* values, std::size_t size) {
  return at::from_blob(values, {static_cast<std::int64_t>(size)}, at::kFloat);
}

void mix(at::Tensor& x, at::Tensor& x_tilde) {
  const at::Tensor delta = (x_tilde - x) * kMixing;
  x += delta;
  x_tilde -= delta;
}

void mix_and_apply(float* const* v, std::size_t size) {
  at::Tensor x = tensor(v[0], size), x_tilde = tensor(v[1], size);
  mix(x, x_tilde);
  const at::Tensor m = tensor(v[2], size) - tensor(v[3], size);
  x.sub_(m, kRate);
  x_tilde.sub_(m, kRate);
}

void exchange(float* const* v, std::size_t size) {
  at::Tensor xi = tensor(v[0], size), yi = tensor(v[1], size);
  at::Tensor xj = tensor(v[2], size), yj = tensor(v[3], size);
  mix(xi, yi);
  mix(xj, yj);
  const at::Tensor m = xi - xj;
  xi.sub_(m, kRate);
  yi.sub_(m, kRate);
  xj.add_(m, kRate);
  yj.add_(m, kRate);
}

void mix_and_sgd(float* const* v, std::size_t size) {
  at::Tensor x = tensor(v[0], size), x_tilde = tensor(v[1], size), m = tensor(v[3], size);
  mix(x, x_tilde);
  m.mul_(kMomentum).add_(tensor(v[2], size).add(x, kDecay));
  x.sub_(m, kRate);
  x_tilde.sub_(m, kRate);
  tensor(v[5], size).copy_(x);
}

void mix_and_adam(float* const* v, std::size_t size) {
  at::Tensor x = tensor(v[0], size), x_tilde = tensor(v[1], size);
  at::Tensor g = tensor(v[2], size), m = tensor(v[3], size), s = tensor(v[4], size);
  mix(x, x_tilde);
  m.mul_(kMomentum).add_(g, 1 - kMomentum);
  s.mul_(0.999).addcmul_(g, g, 0.001);
  const at::Tensor step = m / s.sqrt().add_(1e-8);
  x.sub_(step, kRate);
  x_tilde.sub_(step, kRate);
}

}  // namespace
}  // namespace acid::bench

const acid::bench::TorchKernels* acid_bench_torch_kernels() {
  using namespace acid::bench;
  static const TorchKernels kernels{mix_and_apply, exchange, mix_and_sgd, mix_and_adam};
  at::set_num_threads(1);
  return &kernels;
}
