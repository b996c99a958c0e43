#include "engine/worker/kernels.hpp"

#include <cmath>

namespace acid::kernels {
namespace {

// Calls body(std::true_type or std::false_type …)-style flags once per loop, not once per element:
// the compiler sees constants inside the loop and vectorises each variant on its own.
template <bool value>
struct Flag {
  static constexpr bool on = value;
};

template <class Body>
void with_flag(bool on, Body body) {
  if (on)
    body(Flag<true>{});
  else
    body(Flag<false>{});
}

// Mixes element k when `Mix` is on.
template <class Mix, class T>
inline void mix_element(T& x, T& x_tilde, T c) {
  if constexpr (Mix::on) {
    const T delta = c * (x_tilde - x);
    x += delta;
    x_tilde -= delta;
  }
}

// One worker's event: mixes every element, then element(k, x, x̃) changes it. x̃ is a scratch value
// where the method has none.
template <class T, class Element>
inline void for_each_mixed(Mixed<T> w, std::size_t size, Element element) {
  T* __restrict x = w.x;
  T* __restrict x_tilde = w.x_tilde;
  if (x_tilde == nullptr) {
    for (std::size_t k = 0; k < size; ++k) {
      T unused = 0;
      element(k, x[k], unused);
    }
    return;
  }
  with_flag(w.c != 0, [&](auto mixes) {
    for (std::size_t k = 0; k < size; ++k) {
      mix_element<decltype(mixes)>(x[k], x_tilde[k], w.c);
      element(k, x[k], x_tilde[k]);
    }
  });
}

}  // namespace

template <class T>
void mix(Mixed<T> w, std::size_t size) {
  if (w.x_tilde == nullptr || w.c == 0) return;
  for_each_mixed(w, size, [](std::size_t, T&, T&) {});
}

template <class T>
void mix_and_copy(Mixed<T> w, T* __restrict out, std::size_t size) {
  for_each_mixed(w, size, [out](std::size_t k, T& x, T&) { out[k] = x; });
}

template <class T>
void copy_mixed(const T* __restrict x, const T* __restrict x_tilde, T c, T* __restrict out,
                std::size_t size) {
  if (x_tilde == nullptr || c == 0) {
    for (std::size_t k = 0; k < size; ++k) out[k] = x[k];
    return;
  }
  for (std::size_t k = 0; k < size; ++k) out[k] = x[k] + c * (x_tilde[k] - x[k]);
}

template <class T>
void mix_and_apply(Mixed<T> w, const T* __restrict own, const T* __restrict partner, T a, T a_tilde,
                   std::size_t size) {
  for_each_mixed(w, size, [=](std::size_t k, T& x, T& x_tilde) {
    const T m = own[k] - partner[k];
    x -= a * m;
    x_tilde -= a_tilde * m;
  });
}

template <class T>
void exchange(Mixed<T> i, Mixed<T> j, T a, T a_tilde, std::size_t size) {
  T* __restrict xi = i.x;
  T* __restrict xj = j.x;
  if (i.x_tilde == nullptr) {
    for (std::size_t k = 0; k < size; ++k) {
      const T m = xi[k] - xj[k];
      xi[k] -= a * m;
      xj[k] += a * m;
    }
    return;
  }
  T* __restrict yi = i.x_tilde;
  T* __restrict yj = j.x_tilde;
  with_flag(i.c != 0, [&](auto mixes_i) {
    with_flag(j.c != 0, [&](auto mixes_j) {
      for (std::size_t k = 0; k < size; ++k) {
        mix_element<decltype(mixes_i)>(xi[k], yi[k], i.c);
        mix_element<decltype(mixes_j)>(xj[k], yj[k], j.c);
        const T m = xi[k] - xj[k];
        xi[k] -= a * m;
        yi[k] -= a_tilde * m;
        xj[k] += a * m;
        yj[k] += a_tilde * m;
      }
    });
  });
}

template <class T>
void mix_and_step(Mixed<T> w, const SgdStep<T>& s, T* __restrict snapshot, std::size_t size) {
  const T* __restrict g = s.g;
  T* __restrict m = s.m;
  const T rate = s.learning_rate, momentum = s.momentum, decay = s.decay;
  with_flag(m != nullptr, [&](auto has_momentum) {
    with_flag(s.nesterov, [&](auto nesterov) {
      with_flag(snapshot != nullptr, [&](auto keeps_snapshot) {
        for_each_mixed(w, size, [=](std::size_t k, T& x, T& x_tilde) {
          const T u = g[k] + decay * x;
          T step = u;
          if constexpr (decltype(has_momentum)::on) {
            m[k] = momentum * m[k] + u;
            step = decltype(nesterov)::on ? u + momentum * m[k] : m[k];
          }
          x -= rate * step;
          x_tilde -= rate * step;
          if constexpr (decltype(keeps_snapshot)::on) snapshot[k] = x;
        });
      });
    });
  });
}

template <class T>
void mix_and_step(Mixed<T> w, const AdamStep<T>& s, T* __restrict snapshot, std::size_t size) {
  const T* __restrict g = s.g;
  T* __restrict m = s.m;
  T* __restrict v = s.v;
  const T scale = 1 / s.correction1, root = 1 / std::sqrt(s.correction2);
  const AdamStep<T> p = s;
  with_flag(s.decoupled, [&](auto decoupled) {
    with_flag(snapshot != nullptr, [&](auto keeps_snapshot) {
      for_each_mixed(w, size, [=](std::size_t k, T& x, T& x_tilde) {
        T gradient = g[k];
        if constexpr (!decltype(decoupled)::on) gradient += p.decay * x;
        m[k] = p.beta1 * m[k] + (1 - p.beta1) * gradient;
        v[k] = p.beta2 * v[k] + (1 - p.beta2) * gradient * gradient;
        T step = scale * m[k] / (std::sqrt(v[k]) * root + p.epsilon);
        if constexpr (decltype(decoupled)::on) step += p.decay * x;
        x -= p.learning_rate * step;
        x_tilde -= p.learning_rate * step;
        if constexpr (decltype(keeps_snapshot)::on) snapshot[k] = x;
      });
    });
  });
}

template <class T>
void add_scaled(const T* __restrict x, T weight, T* __restrict out, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) out[k] += weight * x[k];
}

#define ACID_INSTANTIATE(T)                                                     \
  template void mix(Mixed<T>, std::size_t);                                     \
  template void mix_and_copy(Mixed<T>, T*, std::size_t);                        \
  template void copy_mixed(const T*, const T*, T, T*, std::size_t);             \
  template void mix_and_apply(Mixed<T>, const T*, const T*, T, T, std::size_t); \
  template void exchange(Mixed<T>, Mixed<T>, T, T, std::size_t);                \
  template void mix_and_step(Mixed<T>, const SgdStep<T>&, T*, std::size_t);     \
  template void mix_and_step(Mixed<T>, const AdamStep<T>&, T*, std::size_t);    \
  template void add_scaled(const T*, T, T*, std::size_t);
ACID_INSTANTIATE(float)
ACID_INSTANTIATE(double)
#undef ACID_INSTANTIATE

}  // namespace acid::kernels
