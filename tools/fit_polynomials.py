#!/usr/bin/env python3
"""fit_polynomials.py: fits the coefficients in src/kernels/functions_impl.h and prints them with their errors.

exp: 2^f = e^(f ln 2) on |f| <= 1/2. Phi's tail: G(z) = 0.5 erfc(z / sqrt 2) e^(z^2 / 2) as a polynomial in
t = 1 / (1 + z / 3), z in [0, 14]. Both fits minimise the largest relative error (weighted least squares, iterated
as Lawson 1961). Needs numpy and mpmath.
"""
import mpmath
import numpy as np

mpmath.mp.dps = 40


def lawson(basis, target, rounds=200):
    weights = np.ones(len(target))
    for _ in range(rounds):
        root = np.sqrt(weights)
        coefficients, *_ = np.linalg.lstsq(basis * root[:, None], target * root, rcond=None)
        error = np.abs(basis @ coefficients - target)
        weights = weights * (error + 1e-30)
        weights /= weights.sum()
    return coefficients, error.max()


def show(name, coefficients, error):
    print(f"{name}: largest relative error {error:.3g}")
    print("   ", ", ".join(f"{np.float32(c)!r}" for c in coefficients))


r = np.cos(np.linspace(0, np.pi, 2001)) * 0.5 * np.log(2) * 1.001
scaled = np.exp(r)
for degree in (5, 6):
    # e^r = 1 + r + r^2 q(r): the first two terms are exact
    target = (scaled - 1 - r)
    basis = np.stack([r ** (i + 2) for i in range(degree - 1)], 1)
    coefficients, error = lawson(basis / scaled[:, None], target / scaled)
    show(f"exp, degree {degree}: c2..c{degree}", coefficients, error)

c = 1 / 3
z = np.unique(np.concatenate([np.linspace(0, 14, 3000), np.linspace(0, 1, 1000)]))
tail = np.array([float(mpmath.erfc(mpmath.mpf(v) / mpmath.sqrt(2)) * mpmath.exp(mpmath.mpf(v) ** 2 / 2) / 2) for v in z])
t = 1 / (1 + c * z)
for degree in (7, 8, 9, 10):
    basis = np.stack([t**i for i in range(degree + 1)], 1)
    coefficients, error = lawson(basis / tail[:, None], np.ones_like(t))
    show(f"Phi tail, degree {degree}: c0..c{degree}", coefficients, error)
