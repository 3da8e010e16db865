/* Events of the hinge flow of a frozen kernel; hinge.py has the method, and the same steps on arrays of numpy.
 *
 * Nothing is allocated here: all arrays are Python's. So is what is rare and dear: room for more held points, and their
 * inverse computed anew. `hinge_walk` returns for either and, called again, goes on where it was.
 * No sum runs over the entries of a vector, so none depends on how many of them the processor takes at once.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { MOVED, JAMMED, OVERFLOWED, FITTED, FULL, STALE };
enum { LANES = 8 };
typedef ptrdiff_t count;

typedef struct {
  count p, held, room;     /* points, held ones, and held ones that there is room for */
  count events, under_way; /* events so far; the point of one that is not over, else -1 */
  count refined;
  double t, round_off, still, broken, dependent; /* the time; bounds of hinge.py */
  const double *Q;                               /* (p, p) */
  double *m, *a, *v, *q, *side;                  /* margins, integrals, velocities, forces, sides (p) */
  count *points;                                 /* the held ones (room) */
  double *rows, *inverse;                        /* of Q: those of the held points (room, p), inverse (room, room) */
  double *response, *change;                     /* of held forces (room) and of velocities (p) to one unit of force */
  double *wrong, *correction;                    /* (room) */
} Path;

/* y += sum_k c_k x_k with the rows x_k, `stride` apart, four at a time: y passes by once for four */
static void add_rows(count n, count rows, count stride, const double *restrict c, const double *restrict x,
                     double *restrict y) {
  count k = 0;
  for (; k + 4 <= rows; k += 4) {
    const double *x0 = x + k * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    const double c0 = c[k], c1 = c[k + 1], c2 = c[k + 2], c3 = c[k + 3];
    for (count i = 0; i < n; i++) y[i] += (c0 * x0[i] + c1 * x1[i]) + (c2 * x2[i] + c3 * x3[i]);
  }
  for (; k < rows; k++)
    for (count i = 0; i < n; i++) y[i] += c[k] * x[k * stride + i];
}

/* forces on the held points that take their velocities `wrong` away; the inverse is symmetric */
static void forces_against(const Path *path, double *restrict forces) {
  memset(forces, 0, path->held * sizeof *forces);
  add_rows(path->held, path->held, path->room, path->wrong, path->inverse, forces);
  for (count k = 0; k < path->held; k++) forces[k] = -forces[k];
}

/* the largest velocity of a held point in `change`, which should be 0 */
static double largest_wrong(const Path *path) {
  double largest = 0;
  for (count k = 0; k < path->held; k++) {
    const double one = fabs(path->change[path->points[k]]);
    largest = one > largest ? one : largest;
  }
  return largest;
}

/* Sets `response` and `change` for one unit of force on j; 0 if the inverse is none any more, unless it is a new one */
static int respond(Path *path, count j, int is_new) {
  const double *row = path->Q + j * path->p;
  memcpy(path->change, row, path->p * sizeof *row);
  for (count k = 0; k < path->held; k++) path->wrong[k] = row[path->points[k]];
  forces_against(path, path->response);
  add_rows(path->p, path->held, path->p, path->response, path->rows, path->change);
  if (!is_new && largest_wrong(path) > path->broken * row[j]) return 0;
  for (count round = 0; round < path->refined && largest_wrong(path) > path->still; round++) {
    for (count k = 0; k < path->held; k++) path->wrong[k] = path->change[path->points[k]];
    forces_against(path, path->correction);
    for (count k = 0; k < path->held; k++) path->response[k] += path->correction[k];
    add_rows(path->p, path->held, path->p, path->correction, path->rows, path->change);
  }
  return 1;
}

/* bordering: of the response at j, which changes its own velocity by `own` */
static void hold(Path *path, count j, double own) {
  const count n = path->held, room = path->room;
  double *last = path->inverse + n * room;
  for (count i = 0; i < n; i++) last[i] = path->inverse[i * room + n] = path->response[i] / own;
  for (count i = 0; i < n; i++)
    for (count k = 0; k < n; k++) path->inverse[i * room + k] += path->response[i] * last[k];
  last[n] = 1 / own;
  memcpy(path->rows + n * path->p, path->Q + j * path->p, path->p * sizeof *path->rows);
  path->points[n] = j;
  path->held = n + 1;
}

/* downdating; the last point takes the place of the k-th */
static void drop(Path *path, count k) {
  const count n = path->held, room = path->room, last = n - 1;
  double *inverse = path->inverse, *column = path->correction;
  for (count i = 0; i < n; i++) column[i] = inverse[i * room + k];
  for (count i = 0; i < n; i++)
    for (count j = 0; j < n; j++) inverse[i * room + j] -= column[i] * (column[j] / column[k]);
  memcpy(inverse + k * room, inverse + last * room, n * sizeof *inverse);
  for (count i = 0; i < n; i++) inverse[i * room + k] = inverse[i * room + last];
  memmove(path->rows + k * path->p, path->rows + last * path->p, path->p * sizeof *path->rows);
  path->points[k] = path->points[last];
  path->held = last;
}

/* the sum of n numbers, in LANES parts on every processor */
static double sum(count n, const double *x) {
  double part[LANES] = {0}, whole = 0;
  count i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int l = 0; l < LANES; l++) part[l] += x[i + l];
  for (; i < n; i++) part[0] += x[i];
  for (int l = 0; l < LANES; l++) whole += part[l];
  return whole;
}

/* the least of n numbers, which may be infinite */
static double least(count n, const double *x) {
  double part[LANES], whole = INFINITY;
  for (int l = 0; l < LANES; l++) part[l] = INFINITY;
  count i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int l = 0; l < LANES; l++) part[l] = x[i + l] < part[l] ? x[i + l] : part[l];
  for (; i < n; i++) part[0] = x[i] < part[0] ? x[i] : part[0];
  for (int l = 0; l < LANES; l++) whole = part[l] < whole ? part[l] : whole;
  return whole;
}

/* moves to the next event in time; its point, or -1 */
static count advance(Path *path) {
  const count p = path->p;
  const double slowest = path->round_off * sum(p, path->q);
  double *restrict m = path->m, *restrict a = path->a, *restrict wait = path->change;
  const double *restrict v = path->v, *restrict q = path->q, *restrict side = path->side;
  for (count i = 0; i < p; i++) {
    const double own = (1 - m[i]) / v[i], late = own > 0 ? own : 0;
    wait[i] = v[i] * side[i] > slowest ? late : INFINITY;
  }
  const double first = least(p, wait);
  if (first == INFINITY) return -1;
  count next = 0;
  while (wait[next] != first) next++;
  path->t += first;
  for (count i = 0; i < p; i++) {
    m[i] += first * v[i];
    a[i] += first * q[i];
  }
  for (count k = 0; k < path->held; k++) m[path->points[k]] = 1; /* where round-off would move them */
  m[next] = 1;
  return next;
}

/* changes the force on j until it rests at the margin, or has the force of the side that it moves to */
static int resolve(Path *path, count j, int is_new) {
  const double sign = -path->side[j];
  double *q = path->q, *v = path->v;
  for (;; is_new = 0) {
    if (!respond(path, j, is_new)) return STALE;
    const double own = path->change[j];
    const double rest = own > path->dependent * path->Q[j * path->p + j] ? fabs(v[j]) / own : INFINITY;
    const double bound = sign < 0 ? q[j] : 1 - q[j];
    double release = INFINITY; /* of the held point whose force reaches 0 or 1 first */
    count first = -1;
    for (count k = 0; k < path->held; k++) {
      const double rate = sign * path->response[k] + 1e-300; /* a force that does not change is never released */
      const double wait = ((rate > 0) - q[path->points[k]]) / rate;
      if (wait < release) release = wait, first = k;
    }
    release = fmax(release, 0);
    const double length = fmin(fmin(rest, bound), release);
    if (!isfinite(v[j] + own + length)) return OVERFLOWED;
    for (count k = 0; k < path->held; k++) q[path->points[k]] += sign * length * path->response[k];
    q[j] += sign * length;
    for (count i = 0; i < path->p; i++) v[i] += sign * length * path->change[i];
    if (release <= length) {
      const int upward = sign * path->response[first] < 0;
      q[path->points[first]] = upward ? 0 : 1;
      path->side[path->points[first]] = upward ? -1 : 1;
      drop(path, first);
      continue;
    }
    if (rest <= bound) {
      path->side[j] = 0;
      hold(path, j, own);
    } else {
      q[j] = fmax(sign, 0);
      path->side[j] = sign;
    }
    for (count k = 0; k < path->held; k++) v[path->points[k]] = 0;
    return MOVED;
  }
}

static int fitted(const Path *path) {
  for (count i = 0; i < path->p; i++)
    if (path->side[i] > 0) return 0;
  return 1;
}

/* Goes on until there were `until` events. MOVED: there were. JAMMED: nothing moves; OVERFLOWED: a number is none; FITTED: no
 * point is below the margin. To be called again after FULL: with more room; STALE: with the inverse computed anew. */
int hinge_walk(Path *path, count until) {
  int is_new = path->under_way >= 0;
  while (path->events < until || path->under_way >= 0) {
    if (path->under_way < 0) {
      if (path->held == path->room) return FULL;
      path->under_way = advance(path);
      if (path->under_way < 0) return JAMMED;
      path->events++;
    }
    const int met = resolve(path, path->under_way, is_new);
    if (met == STALE) return STALE;
    path->under_way = -1;
    is_new = 0;
    if (met == OVERFLOWED) return OVERFLOWED;
    if (fitted(path)) return FITTED;
  }
  return MOVED;
}
