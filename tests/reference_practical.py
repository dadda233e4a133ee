"""The practical rule of the front ends, transcribed in plain loops over tensors. `Hedged` and `hedge` must equal it.

One step, for the gradients s of the tensors at the point where the last step has ended:

1. Judge. Every expert has a trace e_k of its directions on each tensor. Expert k is charged
   l_k = -sum of rate <s, e_k> over the tensors that have a gradient, with the rate of their last move: to first order,
   what the last steps along expert k would change now.
2. Track. m <- b1 m + (1 - b1) s, v <- b2 v + (1 - b2) s^2; m^ and v^ are these without the weight of their zero start.
3. Move. x <- (1 - rate decay) x - rate u, rate = lr sigma, where a learned sigma is at most the cap max(1, 1 / (2 P)),
   P the largest product lr decay of all tensors: no more than half of a weight decays in a step. If all experts have
   one direction for a tensor, u is that.
   If not, each is brought to a root mean square of 0.2, then their mixture by the weights w is; times that of m^ over
   eps if it is below 1. And e_k <- (1 - 1 / (10 + sight t)) e_k + d_k in step t of a tensor, e_k <- d_k if sight is
   None. A direction whose weight is below a hundredth of the largest sleeps: it counts for nothing, but in every tenth
   step, and there ten times in its trace. The directions:
   momentum  m^
   adam      m^ / (sqrt(v^) + eps)
   polar     the polar factor of m as a matrix, by five steps of Newton and Schulz, at a root mean square of 0.2,
             times that of m^ over eps if it is below 1; adam's direction for tensors that are no matrices
   muon      the same for b1 m + (1 - b1) s in the place of m, without the weight of the zero start as well
   sign      0.2 sign(m), times |m^| / eps in entries where that is below 1
   a mask    m^ times the mask
   function  its value at m^
   object    on matrices ``update(s, m^)``, adam's direction for tensors that are no matrices
4. Learn, for the next step. C <- rho C + l, V <- rho^2 V + (max l - min l)^2, w = softmax(-c sqrt(log K) C / sqrt(V)),
   with at least 1e-6 max |l| for max l - min l;
   and with the decrease q = -sum of w_k l_k by the weights before: M1 <- 0.9 M1 + 0.1 q, M2 <- 0.9 M2 + 0.1 q^2,
   A the mean of |q| / sigma over the n steps with q not 0, log sigma <- log sigma + min(0.05, 4 / n) M1 / N,
   N = sqrt(M2), but at least sigma A if M1 > 0, sigma from 1e-10 to 1e10 and the cap, unless the scale is fixed.

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


def at_length(d):
    return 0.2 * d / np.sqrt(np.mean(d**2)) if d.any() else d


class Practical:
    """The rule. ``scopes`` says which learner weighs the experts of which tensor: [0, 0, 1] are two learners."""

    def __init__(
        self, x, experts, scopes=None, matrices=None, betas=(0.95, 0.999), eps=1e-8, rho=0.997, c=3.0, sight=2.0,
        learned=True,
    ):  # fmt: skip
        self.x = [np.array(p, dtype=np.float64) for p in x]
        self.experts, self.betas, self.eps, self.rho, self.c, self.sight = experts, betas, eps, rho, c, sight
        n, K = len(self.x), len(experts)
        self.scopes = [0] * n if scopes is None else scopes
        self.matrices = [p.ndim >= 2 for p in self.x] if matrices is None else matrices
        self.t, self.rate = [0] * n, [0.0] * n
        self.m = [np.zeros_like(p) for p in self.x]
        self.v = [np.zeros_like(p) for p in self.x]
        self.e = [[np.zeros_like(p) for _ in range(K)] for p in self.x]
        self.C = {scope: [0.0] * K for scope in self.scopes}
        self.V = dict.fromkeys(self.scopes, 0.0)
        self.regret = {scope: [0.0] * K for scope in self.scopes}
        self.w = {scope: [1 / K] * K for scope in self.scopes}
        self.slept = 0
        self.learned, self.log_sigma, self.M1, self.M2, self.sizes = learned, 0.0, 0.0, 0.0, []
        self.capped = 0

    def step(self, gradients, lr, decay=0.0):
        """``lr`` and ``decay`` are numbers, or lists of one a tensor; a gradient may be None."""
        n, K = len(self.x), len(self.experts)
        lr = lr if isinstance(lr, list) else [lr] * n
        decay = decay if isinstance(decay, list) else [decay] * n
        there = [i for i in range(n) if gradients[i] is not None]
        most = max(a * b for a, b in zip(lr, decay, strict=True))
        cap = max(0.0, math.log(0.5 / most)) if most > 0 else math.inf
        is_capped = self.log_sigma > cap
        self.log_sigma = min(self.log_sigma, cap)

        losses = {scope: [0.0] * K for scope in self.scopes}
        for i in there:
            for k in range(K):
                losses[self.scopes[i]][k] -= self.rate[i] * np.sum(gradients[i] * self.e[i][k])

        b1, b2 = self.betas
        for i in there:
            s, rate = np.asarray(gradients[i], dtype=np.float64), lr[i] * math.exp(self.log_sigma)
            self.x[i] = (1 - rate * decay[i]) * self.x[i]
            if self.t[i] == 0 and not s.any():
                continue
            self.t[i] += 1
            self.m[i] = b1 * self.m[i] + (1 - b1) * s
            self.v[i] = b2 * self.v[i] + (1 - b2) * s**2
            d = [self.direction(i, expert, s) for expert in self.experts]
            if len({self.kind(i, expert) for expert in self.experts}) > 1:
                fade = self.fade(np.sqrt(np.mean(self.hat(i) ** 2)))
                kinds, w = [self.kind(i, expert) for expert in self.experts], self.w[self.scopes[i]]
                share = {kind: sum(a for a, other in zip(w, kinds, strict=True) if other == kind) for kind in kinds}
                asleep = 10 if self.t[i] % 10 == 0 else 0
                self.slept += min(share.values()) < 0.01 * max(share.values())
                counts = [1 if share[kind] >= 0.01 * max(share.values()) else asleep for kind in kinds]
                d = [at_length(each) for each in d]
                u = fade * at_length(sum(a * each for a, each, count in zip(w, d, counts, strict=True) if count))
                d = [fade * count * each for each, count in zip(d, counts, strict=True)]
            else:
                u = d[0]
            gamma = 0 if self.sight is None else 1 - 1 / (10 + self.sight * self.t[i])
            self.e[i] = [gamma * e + each for e, each in zip(self.e[i], d, strict=True)]
            self.x[i] = self.x[i] - rate * u
            self.rate[i] = rate

        q = 0.0
        for scope, mine in losses.items():
            had = sum(w * loss for w, loss in zip(self.w[scope], mine, strict=True))
            q -= had
            for k in range(K):
                self.regret[scope][k] += had - mine[k]
                self.C[scope][k] = self.rho * self.C[scope][k] + mine[k]
            spread = max(max(mine) - min(mine), 1e-6 * max(map(abs, mine)))
            self.V[scope] = self.rho**2 * self.V[scope] + spread**2
            if self.V[scope] > 0:
                factor = self.c * math.sqrt(math.log(K)) / math.sqrt(self.V[scope])
                self.w[scope] = softmax([-factor * C for C in self.C[scope]])
        if self.learned:
            self.M1, self.M2 = 0.9 * self.M1 + 0.1 * q, 0.9 * self.M2 + 0.1 * q * q
            sigma = math.exp(self.log_sigma)
            if q != 0:
                self.sizes.append(abs(q) / sigma)
            N = math.sqrt(self.M2)
            if self.M1 > 0:
                N = max(N, sigma * sum(self.sizes) / len(self.sizes))
            if N > 0:
                self.log_sigma += min(0.05, 4 / len(self.sizes)) * self.M1 / N
            self.log_sigma = min(max(self.log_sigma, math.log(1e-10)), math.log(1e10))
            self.capped += is_capped or self.log_sigma > cap
            self.log_sigma = min(self.log_sigma, cap)

    def hat(self, i):
        return self.m[i] / (1 - self.betas[0] ** self.t[i])

    def kind(self, i, expert):
        """What an expert is for a tensor: directions of matrices are adam's elsewhere."""
        is_of_matrices = expert in ("polar", "muon") or hasattr(expert, "update")
        return "adam" if is_of_matrices and not self.matrices[i] else expert if isinstance(expert, str) else id(expert)

    def fade(self, size):
        """min(1, size / eps)."""
        floor = max(self.eps, np.finfo(float).smallest_normal)
        return np.minimum(size, floor) / floor

    def direction(self, i, expert, s):
        m, (b1, b2) = self.hat(i), self.betas
        v = self.v[i] / (1 - b2 ** self.t[i])
        if self.kind(i, expert) == "adam":
            return m / (np.sqrt(v) + self.eps)
        if hasattr(expert, "update"):
            return expert.update(s, m)
        if isinstance(expert, list):
            return m * expert[i]
        if callable(expert):
            return expert(m)
        if expert in ("polar", "muon"):
            M = m if expert == "polar" else b1 * m + (1 - b1) * s / (1 - b1 ** self.t[i])
            polar = newton_schulz(M.reshape(M.shape[0], -1)).reshape(M.shape)
            return self.fade(np.sqrt(np.mean(M**2))) * at_length(polar)
        return m if expert == "momentum" else 0.2 * np.sign(m) * self.fade(np.abs(m))
