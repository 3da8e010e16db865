/* The layers of the infinitely wide ReLU network with biases, for a tile of pairs; biased.py has the formulas.
 *
 * z is half of 1 minus the correlation, theta the kernel over the roots of the variances. The points' tables hold
 * sin and cos of half the angle that the bias turns them by, one row a layer, of which the last repeats.
 * A block of columns stays in registers and the first cache while it passes through all layers.
 */
#include <math.h>

enum { BLOCK = 128, TERMS = 13 };
static const double INVERSE_PI = 0.31830988618379067154, HALF_PI = 1.57079632679489661923;

/* interpolants at Chebyshev points in z from 0 to 1/4, right to round-off: of asin(sqrt z)/sqrt z, and of
 * (sin phi - phi cos phi)/(2 pi z^(3/2)) */
static const double ANGLE[TERMS] = {
    1.0, 0.16666666666664942, 0.07500000000385201, 0.044642856805998936,
    0.03038195969768514, 0.022371749733164054, 0.01735977964134998, 0.01388484282640208,
    0.012170138592391726, 0.0065293020047365695, 0.019513468251252167, -0.016187392271599134,
    0.03187962140081284};
static const double LOSS[TERMS] = {
    0.4244131815783876, 0.042441318157838075, 0.013641852265171355, 0.006315672331640565,
    0.0035166817935403643, 0.002191146741510981, 0.0014732255411245207, 0.001042751959978283,
    0.0007986287787691093, 0.0004633577576864655, 0.0009084722877381531, -0.0005719635991151469,
    0.0013403102127109343};

static inline double series(const double *restrict c, double z) {
  double sum = c[TERMS - 1];
  for (int k = TERMS - 2; k >= 0; k--) sum = sum * z + c[k];
  return sum;
}

/* One layer of a block; near: all z are at most 1/4. Returns the largest change of theta. */
static inline double layer(int near, int w, double p, double q, const double *restrict pz,
                           const double *restrict qz, double *restrict z, double *restrict theta) {
  double change = 0;
  for (int j = 0; j < w; j++) {
    const double old = z[j], root = sqrt(old);
    double half, lost; /* phi/2, and (sin phi - phi cos phi)/(2 pi) */
    if (near) {
      half = root * series(ANGLE, old);
      lost = root * old * series(LOSS, old);
    } else {
      const int far = old > .25;
      const double rest = .5 * (1 - root), y = far ? (rest > 0 ? rest : 0) : old, r = far ? sqrt(y) : root;
      const double arc = r * series(ANGLE, y), left = 1 - old;
      half = far ? HALF_PI - 2 * arc : arc;
      const double direct = (root * sqrt(left > 0 ? left : 0) - half * (1 - 2 * old)) * INVERSE_PI;
      lost = far ? direct : root * old * series(LOSS, old);
    }
    const double turn = p * qz[j] - q * pz[j], gain = 4 * p * q * pz[j] * qz[j], kept = old - lost;
    const double now = gain * (kept > 0 ? kept : 0) + turn * turn;
    const double next = gain * (1 - 2 * INVERSE_PI * half) * theta[j] + (1 - 2 * now);
    const double moved = fabs(next - theta[j]);
    change = moved > change ? moved : change;
    z[j] = now;
    theta[j] = next;
  }
  return change;
}

/* tile (n, m), rows `stride` apart: z after the first bias on entry, theta on return;
 * px, qx (layers, n) and pz, qz (layers, m): sines and cosines of the rows and the columns */
void biased_layers(long n, long m, long stride, long depth, long layers, const double *restrict px,
                   const double *restrict qx, const double *restrict pz, const double *restrict qz,
                   double *restrict tile) {
  for (long i = 0; i < n; i++)
    for (long start = 0; start < m; start += BLOCK) {
      const int w = m - start < BLOCK ? (int)(m - start) : BLOCK;
      double z[BLOCK], theta[BLOCK], *out = tile + i * stride + start;
      for (int j = 0; j < w; j++) {
        z[j] = out[j];
        theta[j] = 1 - 2 * z[j];
      }
      for (long l = 1; l < depth; l++) {
        const long row = l < layers ? l : layers - 1;
        double largest = 0;
        for (int j = 0; j < w; j++) largest = z[j] > largest ? z[j] : largest;
        const double p = px[row * n + i], q = qx[row * n + i];
        const double *b = pz + row * m + start, *c = qz + row * m + start;
        const double change =
            largest <= .25 ? layer(1, w, p, q, b, c, z, theta) : layer(0, w, p, q, b, c, z, theta);
        if (l > layers && change == 0) break; /* all that is left repeats this layer */
      }
      for (int j = 0; j < w; j++) out[j] = theta[j];
    }
}
