/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The BPF object as bytes of the command; the Makefile says where it is. */
	.section .rodata
	.balign 8
	.global krdma_redirect_object
	.global krdma_redirect_object_end
krdma_redirect_object:
	.incbin "redirect.bpf.o"
krdma_redirect_object_end:
	.byte 0

	.section .note.GNU-stack, "", %progbits
