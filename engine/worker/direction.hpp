#pragma once

#include <span>

#include "engine/worker/rule.hpp"

namespace acid {

/// The vector that the rule's step uses as its gradient: `gradient` itself, or memory of the
/// calling thread that is valid until the next call.
///
/// Clipping is torch.nn.utils.clip_grad_norm_: g ← g · min(1, c/(‖g‖ + 10⁻⁶)). A gradient whose
/// norm is NaN is not changed.
///
/// Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon): m ← μm + g; u = g + μm with
/// Nesterov, otherwise m. Each matrix of u becomes √max(1, rows/columns) · orthogonal(u); other
/// tensors become sgd_scale · u. The result is the direction of plain SGD, so weight decay is
/// decoupled.
///
/// A rule with its own step gets, after clipping, g + λx (L2 penalty; not with AdamW, whose decay
/// shrink_model() does), then SGD's momentum: m ← μm + g; g + μm with Nesterov, otherwise m. All
/// these vectors are in host memory.
template <class T>
const T* direction_of(const WorkerView<T>& worker, const T* gradient);

/// x ← (1 − γλ) x, each tensor with its own λ, in any backend's memory: AdamW's weight decay before
/// the step of a rule with its own step.
template <class T>
void shrink_model(const WorkerView<T>& worker, double learning_rate);

/// matrix ← approximately the nearest matrix with orthonormal rows or columns, whichever are fewer:
/// five Newton-Schulz steps X ← aX + (bA + cA²)X, A = XXᵀ, from X = matrix/‖matrix‖, with the
/// published a, b, c = 3.4445, −4.7750, 2.0315. Singular values end between about 0.7 and 1.2,
/// which is enough for Muon.
template <class T>
void orthogonalise(const kernels::Table<T>& kernels, std::size_t rows, std::size_t columns,
                   T* matrix);

/// ‖values‖, summed in double precision in a fixed order.
double euclidean_norm(std::span<const float> values);
double euclidean_norm(std::span<const double> values);

}  // namespace acid
