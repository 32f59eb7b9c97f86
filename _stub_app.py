import sys, types, dataclasses
import spnmkl.data as d, spnmkl.data.dataset as ds, spnmkl.data.reading as rd, spnmkl.data.options as op
if not hasattr(d,'load_sample'):
    import pandas as pd
    from sklearn.datasets import load_breast_cancer
    def load_sample(name):
        b=load_breast_cancer(as_frame=True); f=b.data.copy(); f.columns=[("mean__"+c[5:]) if c.startswith('mean ') else ("worst__"+c[6:]) if c.startswith('worst ') else ("error__"+c[:-6]) for c in f.columns]; f['diagnosis']=b.target_names[b.target]
        return ds.Dataset.guess('Breast cancer',f).with_label('diagnosis').views_by_prefix()
    d.load_sample=load_sample
    @dataclasses.dataclass(frozen=True)
    class Choices: numeric:str='standardize'; missing:str='refuse'; categorical:str='codes'
    d.Choices=Choices; d.Dataset=ds.Dataset; d.Table=rd.Table; d.read_file=rd.read_file; d.ReadOptions=op.ReadOptions
    S=types.SimpleNamespace
    d.SAMPLES={'breast_cancer':S(title='Breast cancer',card='30 features of cell nuclei.',load=lambda:load_sample(''))}
    d.attach_labels=d.join_views=d.summarize=d.split_rows=lambda *a,**k:(_ for _ in ()).throw(Exception('x'))
    d.class_balance=lambda x: pd.DataFrame({'class':['a'],'rows':[3],'share':[1.]}); d.problems=lambda *a: ['x']
exec(compile(open('/work/main/app.py').read(),'/work/main/app.py','exec'))
