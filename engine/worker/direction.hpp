#pragma once

#include <span>

#include "engine/worker/rule.hpp"

namespace acid {

/// What the rule's step is given in the place of a gradient: that itself, or memory of the calling
/// thread, which holds until the next call.
///
/// Clipping is torch.nn.utils.clip_grad_norm_: g ← g · min(1, c/(‖g‖ + 10⁻⁶)); a gradient whose
/// norm is no number stays as it is.
///
/// Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon): m ← μm + g, u = g + μm with
/// Nesterov, else m. Each matrix of u becomes √max(1, rows/columns) · orthogonal(u), and the other
/// tensors, which take SGD's step, sgd_scale · u. The step is then plain SGD by the result, whose
/// weight decay is therefore decoupled.
///
/// For a rule with a step of its own an L2 penalty is in it, g ← g + λx, clipped before, unless the
/// optimiser is AdamW, whose decay shrink_model() does; then SGD's momentum: m ← μm + g, and g ← g
/// + μm with Nesterov, else m. The vectors are the host's in all of this.
template <class T>
const T* direction_of(const WorkerView<T>& worker, const T* gradient);

/// x ← (1 − γλ) x, each tensor with its own λ, wherever the vectors lie: AdamW's weight decay
/// before the step of a rule that has its own.
template <class T>
void shrink_model(const WorkerView<T>& worker, double learning_rate);

/// matrix ← nearly the nearest matrix with orthonormal rows or columns, whichever are fewer: five
/// steps X ← aX + (bA + cA²)X with A = XXᵀ of Newton and Schulz from X = matrix/‖matrix‖, with the
/// public description's a, b, c = 3.4445, −4.7750, 2.0315. They bring singular values to about 0.7
/// to 1.2, which is all that Muon needs.
template <class T>
void orthogonalise(const kernels::Table<T>& kernels, std::size_t rows, std::size_t columns,
                   T* matrix);

/// ‖values‖, summed in double precision in one order.
double euclidean_norm(std::span<const float> values);
double euclidean_norm(std::span<const double> values);

extern template void orthogonalise(const kernels::Table<float>&, std::size_t, std::size_t, float*);
extern template void orthogonalise(const kernels::Table<double>&, std::size_t, std::size_t,
                                   double*);
extern template const float* direction_of(const WorkerView<float>&, const float*);
extern template const double* direction_of(const WorkerView<double>&, const double*);
extern template void shrink_model(const WorkerView<float>&, double);
extern template void shrink_model(const WorkerView<double>&, double);

}  // namespace acid
