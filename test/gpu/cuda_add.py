"""A task that computes on a GPU: adds two vectors through CUDA's driver, which is all that it needs,
and prints what it saw as one line of JSON."""

import ctypes
import json
import os
import sys
import time

N = 1 << 20
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE

# c[i] = a[i] + b[i]; the driver compiles it for the device that is there.
PTX = b"""
.version 6.4
.target sm_50
.address_size 64
.visible .entry add(.param .u64 pa, .param .u64 pb, .param .u64 pc)
{
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .reg .b64 %d<8>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %d1, %r4, 4;
    ld.param.u64 %d2, [pa];
    ld.param.u64 %d3, [pb];
    ld.param.u64 %d4, [pc];
    add.s64 %d5, %d2, %d1;
    add.s64 %d6, %d3, %d1;
    add.s64 %d7, %d4, %d1;
    ld.global.f32 %f1, [%d5];
    ld.global.f32 %f2, [%d6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%d7], %f3;
    ret;
}
"""


class Cuda:
    """The driver; a call that fails ends the task with its name."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.lib, name)

        def call(*args):
            code = function(*args)
            if code:
                sys.exit(f"{name}: error {code}")
        return call

    def devices(self) -> list[str]:
        """The UUIDs of those that this process can see."""
        code = self.lib.cuInit(0)
        if code == NO_DEVICE:
            return []
        if code:
            sys.exit(f"cuInit: error {code}")
        count = ctypes.c_int()
        self.cuDeviceGetCount(ctypes.byref(count))
        found = []
        for i in range(count.value):
            uuid = (ctypes.c_ubyte * 16)()
            self.cuDeviceGetUuid(uuid, i)
            found.append(bytes(uuid).hex())
        return found

    def add(self) -> bool:
        """Is the sum that the first device makes the right one?"""
        context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
        self.cuModuleLoadData(ctypes.byref(module), PTX)
        self.cuModuleGetFunction(ctypes.byref(function), module, b"add")
        floats = ctypes.c_float * N
        a, b, c = floats(*range(N)), floats(*([2.0] * N)), floats()
        places = [ctypes.c_uint64() for _ in range(3)]
        for place in places:
            self.cuMemAlloc_v2(ctypes.byref(place), ctypes.sizeof(floats))
        for place, values in zip(places, (a, b)):
            self.cuMemcpyHtoD_v2(place, values, ctypes.sizeof(floats))
        args = (ctypes.c_void_p * 3)(*[ctypes.addressof(place) for place in places])
        self.cuLaunchKernel(function, N // 256, 1, 1, 256, 1, 1, 0, None, args, None)
        self.cuCtxSynchronize()
        self.cuMemcpyDtoH_v2(c, places[2], ctypes.sizeof(floats))
        return all(c[i] == i + 2.0 for i in range(N))


def main():
    """`cuda_add.py [SECONDS]`: holds the device for so long."""
    cuda = Cuda()
    found = cuda.devices()
    begun = time.time()
    right = cuda.add() if found else None
    time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(json.dumps({"visible": os.environ.get("CUDA_VISIBLE_DEVICES"), "uuids": found,
                      "right": right, "begun": begun, "ended": time.time()}), flush=True)


main()
