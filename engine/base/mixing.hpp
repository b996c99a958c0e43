#pragma once

namespace acid {

/// Parameters of the pairwise exchange and of the continuous mixing between exchanges: dx = η(x̃ −
/// x) dt, dx̃ = η(x − x̃) dt; an exchange moves x by α and x̃ by α̃ of the difference (A²CiD²,
/// 2306.08289; AD-PSGD is α = ½, η = 0).
struct Mixing {
  double alpha = 0.5;
  double alpha_tilde = 0.5;
  double eta = 0;
  /// With η = 0, x never sees x̃: it is not stored.
  bool has_momentum() const { return eta > 0; }
};

}  // namespace acid
