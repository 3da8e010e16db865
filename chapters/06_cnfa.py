# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-06)=
# # The neural feature ansatz
# ## Overview
# %% tags=["parameters"]
# fmt: off
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
# fmt: on
# %%
from regimes.book.chapter import Chapter

chapter = Chapter("06", globals())
# %% [markdown]
# ## One picture, no formula
# %% [markdown]
# ## What a network has learnt, read twice
# D.Fig1, D.Prop2
# %% [markdown]
# ## Centring
# D.Fig2
# %% [markdown]
# ## What changes: the weights or the kernel?
# D.Fig4, D.Fig5
# %% [markdown]
# ## Other data
# D.Fig7, D.Fig8
# %% [markdown]
# ## The first moments of training
# D.Prop3, D.Prop4
# %% [markdown]
# ## Random matrices predict it
# D.Prop10, D.Eq20, D.Eq22, D.Eq28, D.Fig3
# %% [markdown]
# ## Depth and other activations
# D.Fig6
# %% [markdown]
# ## Faces
# D.Fig9
# %% [markdown]
# ## Beyond the paper: does it hold exactly where compression happens?
# %% [markdown]
# ## Beyond the paper: other ways to descend
# %% [markdown]
# ## What holds
