"""Small pieces of TensorFlow and Keras that people put into models: what `check` says of each is compared with a TPU's.

`PROBES` maps a name to a function of the inputs (`specs`), run in an environment with TensorFlow. Used by
tools/make_operations.py (asks the TPU lowering and compiler), benchmarks/bench_operations.py and the tests.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TPU_LIBRARY_PATH", "/nonexistent")  # TensorFlow must not look for a TPU
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")

import keras
import numpy as np
import tensorflow as tf

Probe = Callable[..., Any]
layers = keras.layers

# Inputs by their letter in a probe's name, "name:letters"; b: rows, p: pictures, i: whole numbers, q: a square matrix,
# t: sequences of vectors, w: sequences of words (numbers), n: one whole number, s: text.
SHAPES: dict[str, tuple[tuple[int, ...], str]] = {
    "b": ((8, 16), "float32"),
    "p": ((2, 16, 16, 3), "float32"),
    "i": ((8,), "int32"),
    "q": ((6, 6), "float32"),
    "t": ((4, 10, 16), "float32"),
    "w": ((4, 10), "int32"),
    "n": ((), "int32"),
    "s": ((4,), "string"),
    "v": ((2, 4, 8, 8, 3), "float32"),
}


def specs(name: str) -> list[Any]:
    """The inputs of a probe."""
    return [tf.TensorSpec(*SHAPES[letter]) for letter in name.partition(":")[2]]


def function(name: str) -> Any:
    """The probe as one graph; layers are made and built before it is traced, their weights go in as values."""
    probe = PROBES[name]
    if isinstance(probe, _Layer):
        probe = probe.function(SHAPES[name.partition(":")[2]][0])
    return tf.function(lambda *tensors: probe(*tensors), autograph=False, jit_compile=True)


class _Layer:
    """A Keras layer, called as the training step calls a model: with its weights from outside."""

    def __init__(self, make: Callable[[], Any], inputs: int = 1, **call: Any) -> None:
        self._make, self._inputs, self._call = make, inputs, call

    def __call__(self, *tensors: Any) -> Any:
        raise TypeError("made by `function`")

    def function(self, shape: tuple[int, ...]) -> Probe:
        made = self._make()
        if not made.built:
            made.build(*[shape] * self._inputs)
        weights = [tf.constant(v.numpy()) for v in made.trainable_variables]
        others = [tf.constant(v.numpy()) for v in made.non_trainable_variables]

        def run(x: Any) -> Any:
            if not weights and not others:
                return made(*[x] * self._inputs, **self._call)
            return made.stateless_call(weights, others, *[x] * self._inputs, **self._call)

        return run


layer = _Layer


def _twice(a: Any) -> Any:
    return 2 * a


def _python(x: Any) -> Any:
    return tf.ensure_shape(tf.py_function(_twice, [x], tf.float32), x.shape)


def _numpy(x: Any) -> Any:
    return tf.ensure_shape(tf.numpy_function(np.abs, [x], tf.float32), x.shape)


def _print(x: Any) -> Any:
    with tf.control_dependencies([tf.print(x)]):
        return tf.identity(x)


def _assert(x: Any) -> Any:
    with tf.control_dependencies([tf.debugging.assert_greater(x, -1e9)]):
        return tf.identity(x)


def _table(i: Any) -> Any:
    with tf.init_scope():
        found = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4], tf.int32, tf.int32), 0)
    return found.lookup(i)


def _queue(x: Any) -> Any:
    queue = tf.queue.FIFOQueue(1, tf.float32, [x.shape])
    with tf.control_dependencies([queue.enqueue(x)]):
        return queue.dequeue()


def _gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.nn.softmax(x) ** 2)
    return tape.gradient(y, x)


def _gather_gradient(x: Any, i: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.gather(x, i) ** 2)
    return tf.convert_to_tensor(tape.gradient(y, x))


def _while(x: Any) -> Any:
    return tf.while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, a * 0.5), (tf.constant(0), x))[1]


def _while_by_value(x: Any, n: Any) -> Any:
    return tf.while_loop(lambda k, a: k < n, lambda k, a: (k + 1, a * 0.5), (tf.constant(0), x))[1]


def _growing_loop(x: Any) -> Any:
    return tf.while_loop(
        lambda k, a: k < 3,
        lambda k, a: (k + 1, tf.concat([a, a], 0)),
        (tf.constant(0), x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 16])),
    )[1]


def _tensor_array(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 3, element_shape=x.shape)
    for k in range(3):
        array = array.write(k, x * k)
    return array.stack()


def _array_in_loop(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 8, element_shape=(16,))
    return tf.while_loop(lambda k, a: k < 8, lambda k, a: (k + 1, a.write(k, x[k])), (tf.constant(0), array))[1].stack()


def _array_that_grows(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=(16,))
    return tf.while_loop(lambda k, a: k < 8, lambda k, a: (k + 1, a.write(k, x[k])), (tf.constant(0), array))[1].stack()


def _sparse(x: Any) -> Any:
    sparse = tf.sparse.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [8, 8])
    return tf.sparse.sparse_dense_matmul(sparse, x)


def _dropout(x: Any) -> Any:
    return tf.nn.dropout(x, 0.5)


PROBES: dict[str, Probe] = {
    # arithmetic and products
    "add:b": lambda x: x + 1.0,
    "matmul:b": lambda x: tf.matmul(x, x, transpose_b=True),
    "einsum:t": lambda x: tf.einsum("btd,bsd->bts", x, x),
    "softmax cross entropy:bi": lambda x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=x),
    "gradient of softmax:b": _gradient,
    "gradient of gather:bi": _gather_gradient,
    "float64:b": lambda x: tf.cast(x, tf.float64) * 2,
    "complex64:b": lambda x: tf.abs(tf.cast(x, tf.complex64)),
    "complex128:b": lambda x: tf.abs(tf.cast(x, tf.complex128)),
    "fft:b": lambda x: tf.signal.fft(tf.cast(x, tf.complex64)),
    "rfft2d:p": lambda x: tf.signal.rfft2d(x[..., 0]),
    "stft:b": lambda x: tf.signal.stft(x, 8, 4),
    "erf:b": tf.math.erf,
    "lgamma:b": tf.math.lgamma,
    "igamma:b": lambda x: tf.math.igamma(x + 20, x + 20),
    "betainc:b": lambda x: tf.math.betainc(x * 0 + 1, x * 0 + 2, x * 0 + 0.5),
    "zeta:b": lambda x: tf.math.zeta(x * 0 + 2, x * 0 + 1),
    "bessel i0:b": tf.math.bessel_i0,
    "cumsum:b": lambda x: tf.cumsum(x, 1),
    "cumulative logsumexp:b": lambda x: tf.math.cumulative_logsumexp(x, 1),
    "floor mod:b": lambda x: tf.math.floormod(x, 0.3),
    "bitwise:i": lambda i: tf.bitwise.bitwise_xor(i, i + 1),
    "population count:i": lambda i: tf.raw_ops.PopulationCount(x=i),
    "quantize:b": lambda x: tf.quantization.fake_quant_with_min_max_args(x),
    # choosing and sorting
    "where of three:b": lambda x: tf.where(x > 0, x, 0.0),
    "where of one:b": lambda x: tf.where(x > 0),
    "boolean mask:b": lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0)),
    "unique:i": lambda i: tf.unique(i)[0],
    "unique with counts:i": lambda i: tf.unique_with_counts(i)[0],
    "argsort:b": tf.argsort,
    "sort:b": tf.sort,
    "top k:b": lambda x: tf.math.top_k(x, 4),
    "top k by value:bn": lambda x, n: tf.math.top_k(x, n)[0],
    "in top k:bi": lambda x, i: tf.math.in_top_k(i, x, 3),
    "searchsorted:bb": lambda x, y: tf.searchsorted(tf.sort(x), y),
    "argmax:b": lambda x: tf.argmax(x, 1),
    "one hot:i": lambda i: tf.one_hot(i, 10),
    "one hot of a size by value:in": lambda i, n: tf.one_hot(i, n),
    "gather:bi": tf.gather,
    "gather nd:bi": lambda x, i: tf.gather_nd(x, i[:, None] * 0),
    "batch gather:bw": lambda x, w: tf.gather(x, tf.tile(w, [2, 1]), batch_dims=1),
    "scatter nd:bi": lambda x, i: tf.scatter_nd(i[:, None], x, [8, 16]),
    "tensor scatter add:bi": lambda x, i: tf.tensor_scatter_nd_add(x, i[:, None], x),
    "segment sum:bi": lambda x, i: tf.math.segment_sum(x, tf.sort(i)),
    "unsorted segment sum:bi": lambda x, i: tf.math.unsorted_segment_sum(x, i, 8),
    "unsorted segments by value:bin": tf.math.unsorted_segment_sum,
    "bincount:i": lambda i: tf.math.bincount(i, minlength=8, maxlength=8),
    "bincount by value:i": tf.math.bincount,
    "histogram:b": lambda x: tf.histogram_fixed_width(x, [0.0, 1.0], 10),
    "dynamic partition:bi": lambda x, i: tf.dynamic_partition(x, i % 2, 2),
    "dynamic stitch:bi": lambda x, i: tf.dynamic_stitch([tf.range(8)], [x]),
    "set difference:ii": lambda i, j: tf.sets.size(tf.sets.difference(i[None], j[None])),
    "list difference:ii": lambda i, j: tf.raw_ops.ListDiff(x=i, y=j)[0],
    "range over unique:i": lambda i: tf.range(tf.size(tf.unique(i)[0])),
    "reshape of unique:i": lambda i: tf.reshape(tf.unique(i)[0], (tf.size(tf.unique(i)[0]), 1)),
    "tile of unique:ib": lambda i, x: tf.tile(x[:1], tf.stack([tf.size(tf.unique(i)[0]), 1])),
    "gather of where:b": lambda x: tf.gather(x[:, 0], tf.where(x[:, 0] > 0)[:, 0]),
    "slice between values:bn": lambda x, n: x[n : n + 3],
    "slice of two sizes by value:bn": lambda x, n: x[:n, :n],
    "convolution of a slice by value:pn": lambda x, n: tf.nn.conv2d(
        tf.ensure_shape(x[:, n : n + 8], (2, 8, 16, 3)), tf.ones((3, 3, 3, 4)), 1, "SAME"
    ),
    "constant text:b": lambda x: x * tf.cast(tf.strings.length(tf.constant("abc")), tf.float32),
    "loop that counts:b": lambda x: tf.while_loop(
        lambda k, a: k < 3, lambda k, a: (k + 1, a * tf.cast(tf.size(tf.range(4)), tf.float32)), (tf.constant(0), x)
    )[1],
    "loop with a size of its turn:b": lambda x: tf.while_loop(
        lambda k, a: k < 3, lambda k, a: (k + 1, a + tf.reduce_sum(tf.zeros((k,)))), (tf.constant(0), x)
    )[1],
    "fill of unique:i": lambda i: tf.reduce_sum(tf.zeros(tf.shape(tf.unique(i)[0]))),
    "sequence mask:i": lambda i: tf.sequence_mask(i, 12),
    "sequence mask by value:i": tf.sequence_mask,
    "edit distance:i": lambda i: tf.edit_distance(tf.sparse.from_dense(i[None]), tf.sparse.from_dense(i[None])),
    # sizes
    "reshape:b": lambda x: tf.reshape(x, (-1, 4)),
    "reshape by its shape:b": lambda x: tf.reshape(x, (tf.shape(x)[0] * 2, -1)),
    "reshape by value:bn": lambda x, n: tf.reshape(x, tf.stack([n, -1])),
    "range:b": lambda x: tf.range(tf.shape(x)[0]),
    "range by value:n": tf.range,
    "fill by value:n": lambda n: tf.fill([n], 1.0),
    "slice:b": lambda x: tf.slice(x, [1, 2], [3, 4]),
    "slice from value:bn": lambda x, n: tf.slice(x, tf.stack([n, 0]), [3, 4]),
    "slice of a size by value:bn": lambda x, n: tf.slice(x, [0, 0], tf.stack([n, 4])),
    "strided slice to value:bn": lambda x, n: x[:n],
    "pad:b": lambda x: tf.pad(x, [[1, 1], [0, 0]]),
    "pad by value:bn": lambda x, n: tf.pad(x, tf.stack([[n, 0], [0, 0]])),
    "tile by value:bn": lambda x, n: tf.tile(x, tf.stack([n, 1])),
    "repeat:b": lambda x: tf.repeat(x, 2, 0),
    "repeat by value:bi": lambda x, i: tf.repeat(x, i, 0),
    "concat:b": lambda x: tf.concat([x, x], 0),
    "split:b": lambda x: tf.split(x, 2, 1),
    "transpose by value:bi": lambda x, i: tf.transpose(x, tf.argsort(i[:2])),
    "reduce over an axis by value:bn": lambda x, n: tf.reduce_sum(x, n),
    "roll:b": lambda x: tf.roll(x, 2, 0),
    "reverse sequence:bi": lambda x, i: tf.reverse_sequence(x, i, 1, 0),
    "meshgrid:b": lambda x: tf.meshgrid(x[0], x[1]),
    "ragged:w": lambda w: tf.reduce_sum(tf.RaggedTensor.from_tensor(w, padding=0).values),
    "ragged row sums:b": lambda x: tf.reduce_sum(tf.RaggedTensor.from_row_splits(x[0], [0, 3, 16]), 1),
    "sparse matmul:b": _sparse,
    "sparse to dense:i": lambda i: tf.sparse.to_dense(tf.sparse.from_dense(i)),
    # matrices
    "cholesky:q": lambda q: tf.linalg.cholesky(tf.matmul(q, q, transpose_b=True) + tf.eye(6)),
    "inverse:q": tf.linalg.inv,
    "determinant:q": tf.linalg.det,
    "log determinant:q": lambda q: tf.linalg.slogdet(q)[1],
    "lu:q": tf.linalg.lu,
    "qr:q": tf.linalg.qr,
    "svd:q": lambda q: tf.linalg.svd(q)[0],
    "eigh:q": lambda q: tf.linalg.eigh(q + tf.transpose(q))[0],
    "eig:q": lambda q: tf.abs(tf.linalg.eig(q)[0]),
    "solve:q": lambda q: tf.linalg.solve(q, q),
    "triangular solve:q": lambda q: tf.linalg.triangular_solve(q, q),
    "matrix exponential:q": tf.linalg.expm,
    "least squares:q": lambda q: tf.linalg.lstsq(q, q),
    "band part:q": lambda q: tf.linalg.band_part(q, 1, 1),
    "diagonal:q": lambda q: tf.linalg.set_diag(q, q[0]),
    "tridiagonal solve:q": lambda q: tf.linalg.tridiagonal_solve(q[:3], q[0]),
    # randomness
    "random normal:b": lambda x: tf.random.normal(x.shape),
    "stateless uniform:b": lambda x: tf.random.stateless_uniform(x.shape, [1, 2]),
    "random shuffle:b": tf.random.shuffle,
    "random gamma:b": lambda x: tf.random.gamma(x.shape, 2.0),
    "stateless gamma:b": lambda x: tf.random.stateless_gamma(x.shape, [1, 2], 2.0),
    "random poisson:b": lambda x: tf.random.poisson((8,), 2.0),
    "categorical:b": lambda x: tf.random.categorical(x, 3),
    "stateless categorical:b": lambda x: tf.random.stateless_categorical(x, 3, [1, 2]),
    "truncated normal:b": lambda x: tf.random.truncated_normal(x.shape),
    "stateless binomial:b": lambda x: tf.random.stateless_binomial((8,), [1, 2], 5.0, 0.5),
    "dropout:b": _dropout,
    "uniform candidate sampler:w": lambda w: tf.random.uniform_candidate_sampler(
        tf.cast(w, tf.int64), 10, 5, True, 100
    )[0],
    # pictures
    "convolution:p": lambda x: tf.nn.conv2d(x, tf.ones((3, 3, 3, 4)), 1, "SAME"),
    "depthwise convolution:p": lambda x: tf.nn.depthwise_conv2d(x, tf.ones((3, 3, 3, 2)), (1, 1, 1, 1), "SAME"),
    "transposed convolution:p": lambda x: tf.nn.conv2d_transpose(x, tf.ones((3, 3, 4, 3)), (2, 32, 32, 4), 2),
    "convolution in 3d:v": lambda x: tf.nn.conv3d(x, tf.ones((3, 3, 3, 3, 4)), (1, 1, 1, 1, 1), "SAME"),
    "dilation 2d:p": lambda x: tf.nn.dilation2d(x, tf.ones((3, 3, 3)), (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1)),
    "max pool:p": lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"),
    "max pool with argmax:p": lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME")[0],
    "fractional max pool:p": lambda x: tf.nn.fractional_max_pool(x, (1, 1.5, 1.5, 1), seed=1)[0],
    "local response normalization:p": tf.nn.local_response_normalization,
    "space to depth:p": lambda x: tf.nn.space_to_depth(x, 2),
    "extract patches:p": lambda x: tf.image.extract_patches(x, (1, 4, 4, 1), (1, 4, 4, 1), (1, 1, 1, 1), "VALID"),
    "resize bilinear:p": lambda x: tf.image.resize(x, (8, 8)),
    "resize nearest:p": lambda x: tf.image.resize(x, (8, 8), "nearest"),
    "resize bicubic:p": lambda x: tf.image.resize(x, (8, 8), "bicubic"),
    "resize area:p": lambda x: tf.image.resize(x, (8, 8), "area"),
    "resize lanczos:p": lambda x: tf.image.resize(x, (8, 8), "lanczos3"),
    "resize antialiased:p": lambda x: tf.image.resize(x, (8, 8), antialias=True),
    "crop and resize:p": lambda x: tf.image.crop_and_resize(x, [[0.0, 0, 1, 1]], [0], (4, 4)),
    "random crop:p": lambda x: tf.image.random_crop(x, (2, 8, 8, 3)),
    "random flip:p": tf.image.random_flip_left_right,
    "adjust hue:p": lambda x: tf.image.adjust_hue(x, 0.1),
    "adjust contrast:p": lambda x: tf.image.adjust_contrast(x, 0.5),
    "adjust jpeg quality:p": lambda x: tf.image.adjust_jpeg_quality(x[0], 80),
    "projective transform:p": lambda x: tf.raw_ops.ImageProjectiveTransformV3(
        images=x, transforms=tf.ones((1, 8)), output_shape=(16, 16), fill_value=0.0, interpolation="BILINEAR"
    ),
    "draw bounding boxes:p": lambda x: tf.image.draw_bounding_boxes(x, tf.zeros((2, 1, 4)), [[1.0, 0, 0]]),
    "sample bounding box:p": lambda x: tf.image.stateless_sample_distorted_bounding_box(
        (16, 16, 3), tf.zeros((1, 1, 4)), (1, 2), min_object_covered=0.1
    )[0],
    "non max suppression:q": lambda q: tf.image.non_max_suppression(q[:, :4], q[:, 4], 3),
    "combined non max suppression:q": lambda q: tf.image.combined_non_max_suppression(
        q[None, :, None, :4], q[None, :, 4:5], 3, 3
    )[0],
    "total variation:p": tf.image.total_variation,
    "ssim:p": lambda x: tf.image.ssim(x, x, 1.0, filter_size=3),
    "rgb to hsv:p": tf.image.rgb_to_hsv,
    "decode jpeg:s": lambda s: tf.io.decode_jpeg(s[0]),
    "decode raw:s": lambda s: tf.io.decode_raw(s, tf.uint8),
    # text and outside
    "as string:b": lambda x: tf.strings.length(tf.strings.as_string(x)),
    "string hash:s": lambda s: tf.strings.to_hash_bucket_fast(s, 10),
    "string split:s": lambda s: tf.strings.split(s).values,
    "regex replace:s": lambda s: tf.strings.regex_replace(s, "a", "b"),
    "parse example:s": lambda s: tf.io.parse_example(s, {"x": tf.io.FixedLenFeature((), tf.float32)})["x"],
    "read file:s": lambda s: tf.io.read_file(s[0]),
    "py function:b": _python,
    "numpy function:b": _numpy,
    "print:b": _print,
    "assert:b": _assert,
    "hash table:i": _table,
    "queue:b": _queue,
    "time stamp:b": lambda x: x + tf.cast(tf.timestamp(), tf.float32),
    # control
    "cond:b": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: -x),
    "switch case:bn": lambda x, n: tf.switch_case(n, [lambda: x, lambda: -x]),
    "while:b": _while,
    "while up to a value:bn": _while_by_value,
    "while that grows:b": _growing_loop,
    "tensor array:b": _tensor_array,
    "tensor array in a loop:b": _array_in_loop,
    "tensor array that grows:b": _array_that_grows,
    "map:b": lambda x: tf.map_fn(tf.reduce_sum, x),
    "vectorized map:b": lambda x: tf.vectorized_map(tf.reduce_sum, x),
    "scan:b": lambda x: tf.scan(tf.add, x),
    "ctc loss:tw": lambda t, w: tf.nn.ctc_loss(
        w % 15, t, tf.fill([4], 10), tf.fill([4], 10), logits_time_major=False, blank_index=15
    ),
    "ctc greedy decoder:t": lambda t: tf.nn.ctc_greedy_decoder(tf.transpose(t, (1, 0, 2)), tf.fill([4], 10))[1],
    "embedding lookup:bi": lambda x, i: tf.nn.embedding_lookup(x, i),
    "nce loss:b": lambda x: tf.nn.nce_loss(tf.ones((50, 16)), tf.zeros((50,)), tf.ones((8, 1), tf.int64), x, 5, 50),
    # Keras layers
    "Dense:b": layer(lambda: layers.Dense(4)),
    "BatchNormalization:p": layer(layers.BatchNormalization, training=True),
    "LayerNormalization:t": layer(layers.LayerNormalization),
    "GroupNormalization:p": layer(lambda: layers.GroupNormalization(3)),
    "SpectralNormalization:b": layer(lambda: layers.SpectralNormalization(layers.Dense(4)), training=True),
    "Dropout:b": layer(lambda: layers.Dropout(0.5), training=True),
    "SpatialDropout2D:p": layer(lambda: layers.SpatialDropout2D(0.5), training=True),
    "GaussianNoise:b": layer(lambda: layers.GaussianNoise(0.5), training=True),
    "Conv1D:t": layer(lambda: layers.Conv1D(4, 3, padding="causal")),
    "Conv2D:p": layer(lambda: layers.Conv2D(4, 3, padding="same", dilation_rate=2)),
    "Conv3D:v": layer(lambda: layers.Conv3D(4, 3, padding="same")),
    "SeparableConv2D:p": layer(lambda: layers.SeparableConv2D(4, 3)),
    "DepthwiseConv2D:p": layer(lambda: layers.DepthwiseConv2D(3)),
    "Conv2DTranspose:p": layer(lambda: layers.Conv2DTranspose(4, 3, 2)),
    "MaxPooling2D:p": layer(layers.MaxPooling2D),
    "AveragePooling1D:t": layer(lambda: layers.AveragePooling1D(2)),
    "GlobalMaxPooling2D:p": layer(layers.GlobalMaxPooling2D),
    "UpSampling2D:p": layer(lambda: layers.UpSampling2D(interpolation="bilinear")),
    "ZeroPadding2D:p": layer(layers.ZeroPadding2D),
    "Cropping2D:p": layer(layers.Cropping2D),
    "Embedding:w": layer(lambda: layers.Embedding(50, 8)),
    "LSTM:t": layer(lambda: layers.LSTM(8)),
    "GRU:t": layer(lambda: layers.GRU(8, return_sequences=True)),
    "SimpleRNN unrolled:t": layer(lambda: layers.SimpleRNN(8, unroll=True)),
    "Bidirectional:t": layer(lambda: layers.Bidirectional(layers.LSTM(4))),
    "ConvLSTM2D:v": layer(lambda: layers.ConvLSTM2D(4, 3)),
    "TimeDistributed:v": layer(lambda: layers.TimeDistributed(layers.Flatten())),
    "MultiHeadAttention:t": layer(lambda: layers.MultiHeadAttention(2, 8), inputs=2),
    "EinsumDense:t": layer(lambda: layers.EinsumDense("abc,cd->abd", (10, 4))),
    "Softmax:b": layer(layers.Softmax),
    "PReLU:b": layer(layers.PReLU),
    "Rescaling:p": layer(lambda: layers.Rescaling(1 / 255)),
    "Normalization:b": layer(lambda: layers.Normalization(mean=0.0, variance=1.0)),
    "Discretization:b": layer(lambda: layers.Discretization([0.0, 0.5, 1.0])),
    "CategoryEncoding:i": layer(lambda: layers.CategoryEncoding(10, "one_hot")),
    "CategoryEncoding counts:w": layer(lambda: layers.CategoryEncoding(50, "count")),
    "Hashing:i": layer(lambda: layers.Hashing(10)),
    "Hashing of text:s": layer(lambda: layers.Hashing(10)),
    "IntegerLookup:i": layer(lambda: layers.IntegerLookup(vocabulary=[1, 2, 3])),
    "StringLookup:s": layer(lambda: layers.StringLookup(vocabulary=["a", "b"])),
    "TextVectorization:s": layer(lambda: layers.TextVectorization(vocabulary=["a", "b"], output_sequence_length=4)),
    "Resizing:p": layer(lambda: layers.Resizing(8, 8)),
    "Resizing bicubic:p": layer(lambda: layers.Resizing(8, 8, interpolation="bicubic")),
    "CenterCrop:p": layer(lambda: layers.CenterCrop(8, 8)),
    "RandomCrop:p": layer(lambda: layers.RandomCrop(8, 8), training=True),
    "RandomFlip:p": layer(layers.RandomFlip, training=True),
    "RandomRotation:p": layer(lambda: layers.RandomRotation(0.1), training=True),
    "RandomZoom:p": layer(lambda: layers.RandomZoom(0.1), training=True),
    "RandomTranslation:p": layer(lambda: layers.RandomTranslation(0.1, 0.1), training=True),
    "RandomContrast:p": layer(lambda: layers.RandomContrast(0.1), training=True),
    "RandomBrightness:p": layer(lambda: layers.RandomBrightness(0.1), training=True),
    "RandomErasing:p": layer(layers.RandomErasing, training=True),
    "MelSpectrogram:b": layer(lambda: layers.MelSpectrogram(8, 4, num_mel_bins=4)),
    "UnitNormalization:b": layer(layers.UnitNormalization),
}


def trace(name: str) -> Any:
    """The traced graph of a probe."""
    return function(name).get_concrete_function(*specs(name)).graph


def check_all() -> dict[str, list[list[str]]]:
    """Any TensorFlow: what the check's table says of each probe: id, level and operation of each finding."""
    from tpu_studio.trainer.check import tf_operations

    return {
        name: [[one["id"], one["level"], one["facts"]["operation"]] for one in tf_operations.findings(trace(name))]
        for name in PROBES
    }


def lower_all(folder: Path) -> dict[str, Any]:
    """With tensorflow-tpu: every operation it has for a TPU, and for each probe whether it is lowered."""
    from tpu_studio.trainer.check.lowering import first_words
    from tpu_studio.trainer.frameworks.on_tensorflow import libtpu

    answers: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(PROBES):
        made = function(name).experimental_get_compiler_ir(*specs(name))
        try:
            text = made(stage="stablehlo", platform_name="TPU")
        except Exception as error:  # noqa: BLE001  a refusal is the answer
            answers[name] = {"lowered": False, "words": first_words(str(error))[:300]}
            continue
        file = folder / f"{number}.mlir"
        file.write_text(text, encoding="utf-8")
        answers[name] = {"lowered": True, "file": str(file)}
    return {"answers": answers, "types": registered(), "libtpu": str(libtpu())}


def registered() -> dict[str, dict[str, list[str]]]:
    """Operation to number types by attribute, of those that the TPU compiler has; after the first lowering."""
    from tensorflow.python.framework import dtypes, kernels

    found: dict[str, dict[str, list[str]]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type != "XLA_TPU_JIT":
            continue
        types = found.setdefault(kernel.op, {})
        for one in kernel.constraint:
            names = {dtypes.as_dtype(kind).name for kind in one.allowed_values.list.type}
            types[one.name] = sorted(names | set(types.get(one.name, ())))
    return dict(sorted(found.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="operation_probes")
    parser.add_argument("--lower", type=Path, metavar="FOLDER", help="the TPU's own answers; needs tensorflow-tpu")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="what the check says")
    given = parser.parse_args()
    if given.lower:
        (given.lower / "answers.json").write_text(json.dumps(lower_all(given.lower)), encoding="utf-8")
    if given.check:
        (given.check / "checked.json").write_text(json.dumps(check_all()), encoding="utf-8")
