"""The practical rule of the front ends, transcribed in plain loops over tensors. `Hedged` and `hedge` must equal it.

One step, for the gradients s of the tensors at the point where the last step has ended:

1. Charge. To first order, expert k had promised the decrease p_k = sum of lr <m^, d_k> over the tensors that it moved,
   with the tracker of that step. The new gradient finds that g_k = sum of lr <s, d_k> of it was kept, at most p_k and
   at least -p_k. What was kept counts, and what was not costs two fifths of itself on top:
   l_k = -(g_k - 0.4 (p_k - g_k)) / max_j p_j; if nobody promised anything, 0.
2. Learn. C <- rho C + l, V <- rho^2 V + (max l - min l)^2, w = softmax(-c sqrt(log K) C / sqrt(V)).
3. Track. m <- b1 m + (1 - b1) s, v <- b2 v + (1 - b2) s^2, and with one number a tensor q <- b2 q + (1 - b2) mean(s^2);
   m^, v^ and q^ are these without the weight of their zero start.
4. Move. x <- (1 - lr decay) x - lr sum_k w_k d_k, where every expert gives each tensor a direction:
   momentum  u = f m^, with the factor f at which it would have promised what adam did in the last step,
             f = <m^, d> / <m^, m^>; in the first step, and where adam is not among the experts, f = 1 / sqrt(q^)
   adam      m^ / (sqrt(v^) + eps)
   polar     the polar factor of m as a matrix, by five steps of Newton and Schulz, at a root mean square of 0.2,
             times that of m^ over eps if it is below 1; adam's direction for tensors that are no matrices
   sign      0.2 sign(m), times |m^| / eps in entries where that is below 1
   a mask    u times the mask
   function  its value at u

Tensors without a gradient are left out of a step. Gradients before the first that is not 0 count for nothing.
"""

import math

import numpy as np


def softmax(z):
    e = [math.exp(a - max(z)) for a in z]
    return [a / sum(e) for a in e]


def newton_schulz(A):
    X = A / np.sqrt(np.sum(A * A))
    if A.shape[0] > A.shape[1]:
        X = X.T
    for _ in range(5):
        B = X @ X.T
        X = 3.4445 * X - 4.7750 * B @ X + 2.0315 * B @ B @ X
    return X.T if A.shape[0] > A.shape[1] else X


class Practical:
    """The rule. ``scopes`` says which learner weighs the experts of which tensor: [0, 0, 1] are two learners."""

    def __init__(self, x, experts, scopes=None, matrices=None, betas=(0.9, 0.999), eps=1e-8, rho=0.99, c=10.0):
        self.x = [np.array(p, dtype=np.float64) for p in x]
        self.experts, self.betas, self.eps, self.rho, self.c = experts, betas, eps, rho, c
        n, K = len(self.x), len(experts)
        self.scopes = [0] * n if scopes is None else scopes
        self.matrices = [p.ndim >= 2 for p in self.x] if matrices is None else matrices
        self.t, self.q, self.f, self.played = [0] * n, [0.0] * n, [0.0] * n, [0.0] * n
        self.m = [np.zeros_like(p) for p in self.x]
        self.v = [np.zeros_like(p) for p in self.x]
        self.d = [[np.zeros_like(p)] * K for p in self.x]
        self.C = {scope: [0.0] * K for scope in self.scopes}
        self.V = dict.fromkeys(self.scopes, 0.0)
        self.regret = {scope: [0.0] * K for scope in self.scopes}
        self.w = {scope: [1 / K] * K for scope in self.scopes}

    def step(self, gradients, lr, decay=0.0):
        """``lr`` and ``decay`` are numbers, or lists of one a tensor; a gradient may be None."""
        n, K = len(self.x), len(self.experts)
        lr = lr if isinstance(lr, list) else [lr] * n
        decay = decay if isinstance(decay, list) else [decay] * n
        there = [i for i in range(n) if gradients[i] is not None]

        for scope in self.C:
            mine = [i for i in there if self.scopes[i] == scope]
            kept = [sum(self.played[i] * np.sum(gradients[i] * self.d[i][k]) for i in mine) for k in range(K)]
            promised = [sum(self.played[i] * np.sum(self.hat(i) * self.d[i][k]) for i in mine) for k in range(K)]
            kept = [max(min(g, abs(p)), -abs(p)) for g, p in zip(kept, promised, strict=True)]
            most = max(promised)
            losses = [-(g - 0.4 * (p - g)) / most if most > 0 else 0.0 for g, p in zip(kept, promised, strict=True)]
            had = sum(w * loss for w, loss in zip(self.w[scope], losses, strict=True))
            for k in range(K):
                self.regret[scope][k] += had - losses[k]
                self.C[scope][k] = self.rho * self.C[scope][k] + losses[k]
            self.V[scope] = self.rho**2 * self.V[scope] + (max(losses) - min(losses)) ** 2
            if self.V[scope] > 0:
                rate = self.c * math.sqrt(math.log(K)) / math.sqrt(self.V[scope])
                self.w[scope] = softmax([-rate * C for C in self.C[scope]])

        b1, b2 = self.betas
        self.played = [0.0] * n
        for i in there:
            s = np.asarray(gradients[i], dtype=np.float64)
            self.x[i] = (1 - lr[i] * decay[i]) * self.x[i]
            if self.t[i] == 0 and not s.any():
                continue
            if self.t[i] > 0 and self.has_adam(i):
                m = self.hat(i)
                self.f[i] = np.sum(m * self.direction(i, "adam")) / np.sum(m * m)
            self.t[i] += 1
            self.m[i] = b1 * self.m[i] + (1 - b1) * s
            self.v[i] = b2 * self.v[i] + (1 - b2) * s**2
            self.q[i] = b2 * self.q[i] + (1 - b2) * np.mean(s**2)
            if self.t[i] == 1 or not self.has_adam(i):
                self.f[i] = 1 / math.sqrt(self.q[i] / (1 - b2 ** self.t[i]))
            self.d[i] = [self.direction(i, expert) for expert in self.experts]
            step = sum(w * d for w, d in zip(self.w[self.scopes[i]], self.d[i], strict=True))
            self.x[i] = self.x[i] - lr[i] * step
            self.played[i] = lr[i]

    def hat(self, i):
        return self.m[i] / (1 - self.betas[0] ** self.t[i]) if self.t[i] else self.m[i]

    def has_adam(self, i):
        return "adam" in self.experts or ("polar" in self.experts and not self.matrices[i])

    def fade(self, size):
        """min(1, size / eps)."""
        floor = max(self.eps, np.finfo(float).smallest_normal)
        return np.minimum(size, floor) / floor

    def direction(self, i, expert):
        m, b2 = self.hat(i), self.betas[1]
        v = self.v[i] / (1 - b2 ** self.t[i])
        u = self.f[i] * m
        if expert == "momentum":
            return u
        if expert == "adam" or (expert == "polar" and not self.matrices[i]):
            return m / (np.sqrt(v) + self.eps)
        if expert == "polar":
            return self.fade(np.sqrt(np.mean(m**2))) * self.at_length(
                newton_schulz(m.reshape(m.shape[0], -1)).reshape(m.shape)
            )
        if expert == "sign":
            return 0.2 * np.sign(m) * self.fade(np.abs(m))
        if isinstance(expert, list):
            return u * expert[i]
        return expert(u)

    def at_length(self, d):
        return 0.2 * d / np.sqrt(np.mean(d**2)) if d.any() else d
